#include "support/every_collective_checks.hpp"

#include <set>

#include "support/collective_elements.hpp"

namespace lockstep::test {
namespace {

constexpr std::int64_t kLargeCount = 1'000'000;  // over all ranks

// One rank's calls with one count and dtype; each returns "" or an error.
template <typename T>
class Caller {
 public:
  Caller(ProcessGroup& group, std::int64_t count) : group_(group), count_(count) {}

  std::string reduce(int root, ReduceOp op) {
    const auto own = [&](std::int64_t i) { return contribution(rank(), i, size(), dtype_of<T>, op); };
    std::vector<T> values = filled<T>(count_, own);
    group_.reduce(buffer_of(values), root, op).synchronize();
    if (rank() != root) return difference(values, own);
    return difference(values, [&](std::int64_t i) { return expected(i, size(), dtype_of<T>, op); });
  }

  std::string all_reduce(ReduceOp op) {
    std::vector<T> values =
        filled<T>(count_, [&](std::int64_t i) { return contribution(rank(), i, size(), dtype_of<T>, op); });
    group_.all_reduce(buffer_of(values), op).synchronize();
    return difference(values, [&](std::int64_t i) { return expected(i, size(), dtype_of<T>, op); });
  }

  std::string reduce_scatter(ReduceOp op) {
    const auto own = [&](std::int64_t i) { return contribution(rank(), i, size(), dtype_of<T>, op); };
    std::vector<T> input = filled<T>(count_ * size(), own);
    std::vector<T> output = untouched();
    group_.reduce_scatter(buffer_of(output), buffer_of(input), op).synchronize();
    if (const std::string wrong = difference(input, own); !wrong.empty()) return concat("input changed: ", wrong);
    return difference(output, [&](std::int64_t i) { return expected(rank() * count_ + i, size(), dtype_of<T>, op); });
  }

  std::string broadcast(int root) {
    std::vector<T> values = rank() == root ? own_values() : untouched();
    group_.broadcast(buffer_of(values), root).synchronize();
    return difference(values, [&](std::int64_t i) { return moved_value(root, i); });
  }

  std::string all_gather() {
    std::vector<T> input = own_values();
    std::vector<T> output(static_cast<std::size_t>(count_ * size()));
    group_.all_gather(buffer_of(output), buffer_of(input)).synchronize();
    return difference(output, [&](std::int64_t i) { return moved_value(static_cast<int>(i / count_), i % count_); });
  }

  std::string gather(int root) {
    std::vector<T> input = own_values();
    std::vector<T> output(static_cast<std::size_t>(rank() == root ? count_ * size() : 0));
    group_.gather(buffer_of(output), buffer_of(input), root).synchronize();
    return difference(output, [&](std::int64_t i) { return moved_value(static_cast<int>(i / count_), i % count_); });
  }

  std::string scatter(int root) {
    std::vector<T> input =
        filled<T>(rank() == root ? count_ * size() : 0, [](std::int64_t i) { return static_cast<double>(i % 127); });
    std::vector<T> output = untouched();
    group_.scatter(buffer_of(output), buffer_of(input), root).synchronize();
    return difference(output, [&](std::int64_t i) { return static_cast<double>((rank() * count_ + i) % 127); });
  }

  std::string all_to_all() {
    std::vector<T> input = filled<T>(count_ * size(), [&](std::int64_t i) { return moved_value(rank(), i); });
    std::vector<T> output(input.size());
    group_.all_to_all(buffer_of(output), buffer_of(input)).synchronize();
    return difference(output, [&](std::int64_t i) {
      return moved_value(static_cast<int>(i / count_), rank() * count_ + i % count_);
    });
  }

  // Each rank in turn sends to all others.
  std::string send_and_recv() {
    for (int sender = 0; sender < size(); ++sender) {
      std::vector<T> values = rank() == sender ? own_values() : untouched();
      for (int peer = 0; peer < size(); ++peer) {
        if (rank() == sender && peer != sender) group_.send(buffer_of(values), peer).synchronize();
        if (rank() == peer && peer != sender) group_.recv(buffer_of(values), sender).synchronize();
      }
      const std::string wrong = difference(values, [&](std::int64_t i) { return moved_value(sender, i); });
      if (!wrong.empty()) return concat("from rank ", sender, ": ", wrong);
    }
    return "";
  }

 private:
  [[nodiscard]] int rank() const { return group_.rank(); }
  [[nodiscard]] int size() const { return group_.world_size(); }
  [[nodiscard]] std::vector<T> own_values() const {
    return filled<T>(count_, [this](std::int64_t i) { return moved_value(rank(), i); });
  }
  [[nodiscard]] std::vector<T> untouched() const {
    return filled<T>(count_, [](std::int64_t) { return kUntouched; });
  }

  ProcessGroup& group_;
  std::int64_t count_;
};

std::string run_small_cases(ProcessGroup& group) {
  const int world_size = group.world_size();
  Findings findings(group);
  for (const std::int64_t count : std::set<std::int64_t>{0, 1, world_size - 1, world_size, world_size + 1, 1000}) {
    for (const DType dtype : kDTypes) {
      const auto case_text = concat(count, " ", dtype);
      (void)with_element_type(dtype, [&]<typename T>(T) -> std::string {
        Caller<T> caller(group, count);
        for (const ReduceOp op : kOps) {
          findings.add(caller.reduce_scatter(op), "reduce_scatter, ", name_of(op), " of ", case_text);
          const int root = static_cast<int>(op) % world_size;
          findings.add(caller.reduce(root, op), "reduce to ", root, ", ", name_of(op), " of ", case_text);
        }
        for (int root = 0; root < world_size; ++root) {
          findings.add(caller.reduce(root, ReduceOp::kSum), "reduce to ", root, " of ", case_text);
          findings.add(caller.gather(root), "gather to ", root, " of ", case_text);
          findings.add(caller.scatter(root), "scatter from ", root, " of ", case_text);
        }
        findings.add(caller.all_gather(), "all_gather of ", case_text);
        findings.add(caller.all_to_all(), "all_to_all of ", case_text);
        findings.add(caller.send_and_recv(), "send and recv of ", case_text);
        return "";
      });
    }
  }
  return findings.first();
}

// Every dtype and every operation at least once. The ranks cannot divide the count.
std::string run_large_cases(ProcessGroup& group) {
  const std::int64_t count = kLargeCount / group.world_size() / group.world_size() * group.world_size() + 1;
  Findings findings(group);
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    const DType dtype = kDTypes[i];
    const ReduceOp op = kOps[(i + 1) % kOps.size()];  // + 1: avoids the sum of float32, which other tests cover
    const int root = static_cast<int>(i) % group.world_size();
    (void)with_element_type(dtype, [&]<typename T>(T) -> std::string {
      Caller<T> caller(group, count);
      findings.add(caller.all_reduce(op), "all_reduce, ", name_of(op), " of ", dtype);
      findings.add(caller.reduce(root, op), "reduce, ", name_of(op), " of ", dtype);
      findings.add(caller.reduce_scatter(op), "reduce_scatter, ", name_of(op), " of ", dtype);
      findings.add(caller.broadcast(root), "broadcast of ", dtype);
      findings.add(caller.all_gather(), "all_gather of ", dtype);
      findings.add(caller.gather(root), "gather of ", dtype);
      findings.add(caller.scatter(root), "scatter of ", dtype);
      findings.add(caller.all_to_all(), "all_to_all of ", dtype);
      findings.add(caller.send_and_recv(), "send and recv of ", dtype);
      return "";
    });
  }
  return findings.first();
}

}  // namespace

void check_every_collective(const GroupFactory& make_group, const std::vector<int>& world_sizes) {
  for (const int world_size : world_sizes) check_on_all_ranks(make_group, world_size, run_small_cases);
}

void check_every_collective_at_scale(const GroupFactory& make_group) {
  // Without 4 and 8 ranks, two thirds of the time: small counts cover them, and long buffers are cut in the same way.
  for (const int world_size : {1, 2, 3, 5}) check_on_all_ranks(make_group, world_size, run_large_cases);
}

void check_larger_than_buffers(const GroupFactory& make_group) {
  constexpr std::int64_t kCount = (std::int64_t{32} << 20) / sizeof(float) + 1;
  check_on_all_ranks(make_group, 3, [](ProcessGroup& group) -> std::string {
    Caller<float> caller(group, kCount);
    Findings findings(group);
    findings.add(caller.all_reduce(ReduceOp::kSum), "all_reduce");
    findings.add(caller.reduce(1, ReduceOp::kSum), "reduce");
    findings.add(caller.reduce_scatter(ReduceOp::kSum), "reduce_scatter");
    findings.add(caller.broadcast(1), "broadcast");
    findings.add(caller.all_gather(), "all_gather");
    findings.add(caller.gather(2), "gather");
    findings.add(caller.scatter(2), "scatter");
    findings.add(caller.all_to_all(), "all_to_all");
    return findings.first();
  });
}

}  // namespace lockstep::test
