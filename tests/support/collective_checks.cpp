#include "support/collective_checks.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/philox.hpp"
#include "support/catch.hpp"
#include "support/collective_elements.hpp"

namespace lockstep::test {
namespace {

// One element of any dtype. All values used are small integers, which every dtype holds exactly.
void store_element(std::byte* at, DType dtype, double value) {
  const auto put = [at](auto element) { std::memcpy(at, &element, sizeof element); };
  switch (dtype) {
    case DType::kFloat32:
      return put(static_cast<float>(value));
    case DType::kFloat64:
      return put(value);
    case DType::kBFloat16: {
      const auto single = static_cast<float>(value);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &single, sizeof bits);
      return put(static_cast<std::uint16_t>(bits >> 16));
    }
    case DType::kInt32:
      return put(static_cast<std::int32_t>(value));
    case DType::kInt64:
      return put(static_cast<std::int64_t>(value));
    case DType::kUInt8:
      return put(static_cast<std::uint8_t>(value));
  }
}

std::vector<std::byte> fill(std::int64_t count, DType dtype, const std::function<double(std::int64_t)>& value_of) {
  const std::size_t width = bytes_of(dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  for (std::int64_t i = 0; i < count; ++i) {
    store_element(bytes.data() + static_cast<std::size_t>(i) * width, dtype, value_of(i));
  }
  return bytes;
}

struct Case {
  std::int64_t count;
  DType dtype;
  ReduceOp op;
};

std::vector<Case> cases_for(int world_size, std::int64_t largest_count) {
  std::vector<Case> cases;
  for (const std::int64_t count : std::set<std::int64_t>{0, 1, world_size - 1, world_size, world_size + 1, 1000}) {
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : kOps) cases.push_back({count, dtype, op});
    }
  }
  if (largest_count <= 1000) return cases;
  for (const DType dtype : kDTypes) cases.push_back({largest_count, dtype, ReduceOp::kSum});
  for (const ReduceOp op : kOps) cases.push_back({largest_count, DType::kFloat32, op});
  return cases;
}

// The first wrong case of one rank in words, or "". Ranks do not call Catch2: they return text.
std::string run_cases(ProcessGroup& group, const std::vector<Case>& cases) {
  const int world_size = group.world_size();
  for (const Case& test : cases) {
    std::vector<std::byte> values = fill(test.count, test.dtype, [&](std::int64_t i) {
      return contribution(group.rank(), i, world_size, test.dtype, test.op);
    });
    group.all_reduce(Buffer{values.data(), test.count, test.dtype, {}, nullptr}, test.op).synchronize();
    const std::vector<std::byte> wanted =
        fill(test.count, test.dtype, [&](std::int64_t i) { return expected(i, world_size, test.dtype, test.op); });
    if (values == wanted) continue;
    const auto at = std::mismatch(values.begin(), values.end(), wanted.begin()).first - values.begin();
    return concat("rank ", group.rank(), ": ", name_of(test.op), " of ", test.count, " ", test.dtype,
                  ": wrong from element ", at / static_cast<std::ptrdiff_t>(bytes_of(test.dtype)));
  }
  return "";
}

std::vector<float> random_floats(int rank, std::size_t count) {
  PhiloxSequence words(99, static_cast<std::uint64_t>(rank));
  std::vector<float> values(count);
  for (float& value : values) value = normal_floats(words.next_word(), words.next_word())[0];
  return values;
}

std::vector<float> random_sum(const GroupFactory& make_group, JobContext context, std::size_t count) {
  const auto group = make_group(std::move(context));
  std::vector<float> values = random_floats(group->rank(), count);
  group->all_reduce(comm::host_buffer(std::span(values)), ReduceOp::kMean).synchronize();
  return values;
}

bool have_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

void check_all_reduce(const GroupFactory& make_group, std::int64_t largest_count) {
  for (const int world_size : kWorldSizes) {
    const std::vector<Case> cases = cases_for(world_size, largest_count);
    const auto problems = run_ranks_for<std::string>(
        world_size, [&](JobContext context) { return run_cases(*make_group(std::move(context)), cases); });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

void check_bits_repeat(const GroupFactory& make_group) {
  constexpr std::size_t kCount = 4099;
  for (const int world_size : {2, 3, 5}) {
    const auto run = [&] {
      return run_ranks_for<std::vector<float>>(
          world_size, [&](JobContext context) { return random_sum(make_group, std::move(context), kCount); });
    };
    const auto first = run();
    for (const auto& values : first) CHECK(have_same_bits(values, first[0]));
    const auto second = run();
    for (const auto& values : second) CHECK(have_same_bits(values, first[0]));

    std::vector<double> mean(kCount);
    for (int rank = 0; rank < world_size; ++rank) {
      const std::vector<float> values = random_floats(rank, kCount);
      for (std::size_t i = 0; i < kCount; ++i) mean[i] += static_cast<double>(values[i]) / world_size;
    }
    // P - 1 additions and a division of values below 6 in magnitude: each rounds by at most half a unit in the last
    // place of a partial sum below 32, that is 2^-20, so P * 2^-20 is never reached.
    double largest_error = 0;
    for (std::size_t i = 0; i < kCount; ++i) largest_error = std::max(largest_error, std::abs(mean[i] - first[0][i]));
    CHECK(largest_error < world_size * 0x1.0p-20);
  }
}

void check_nan_propagates(const GroupFactory& make_group) {
  const auto problems = run_ranks_for<std::string>(3, [&](JobContext context) -> std::string {
    const auto group = make_group(std::move(context));
    for (const ReduceOp op : kOps) {
      for (int culprit = 0; culprit < 3; ++culprit) {
        std::vector<float> values{1, 2, 3, 4, 5, 6, 7};
        if (group->rank() == culprit) values[4] = std::numeric_limits<float>::quiet_NaN();
        group->all_reduce(comm::host_buffer(std::span(values)), op).synchronize();
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(values[i]) != (i == 4)) return concat(name_of(op), ", NaN on rank ", culprit, ": element ", i);
        }
      }
    }
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

void check_broadcast(const GroupFactory& make_group) {
  for (const int world_size : kWorldSizes) {
    const auto problems = run_ranks_for<std::string>(world_size, [&](JobContext context) -> std::string {
      const auto group = make_group(std::move(context));
      for (int root = 0; root < world_size; ++root) {
        for (const std::int64_t count : {0, 1, world_size + 1, 1000}) {
          for (const DType dtype : {DType::kFloat32, DType::kUInt8}) {
            const auto of_root =
                fill(count, dtype, [&](std::int64_t i) { return static_cast<double>((i + root) % 97); });
            auto values = group->rank() == root ? of_root : fill(count, dtype, [](std::int64_t) { return 111.0; });
            group->broadcast(Buffer{values.data(), count, dtype, {}, nullptr}, root).synchronize();
            if (values != of_root) return concat("rank ", group->rank(), ": root ", root, ", ", count, " ", dtype);
          }
        }
      }
      return "";
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

void check_barrier(const GroupFactory& make_group) {
  for (const int world_size : kWorldSizes) {
    std::atomic<int> entered{0};
    const auto too_early = run_ranks_for<int>(world_size, [&](JobContext context) {
      const auto group = make_group(std::move(context));
      int seen_too_early = 0;
      for (int round = 1; round <= 20; ++round) {
        ++entered;
        group->barrier().synchronize();
        if (entered < round * world_size) ++seen_too_early;
      }
      return seen_too_early;
    });
    CHECK(too_early == std::vector<int>(static_cast<std::size_t>(world_size), 0));
  }
}

void check_issue_order(const GroupFactory& make_group) {
  const auto results = run_ranks_for<std::vector<float>>(3, [&](JobContext context) {
    const auto group = make_group(std::move(context));
    std::vector<float> values{1, 2, 3};
    const comm::Buffer buffer = comm::host_buffer(std::span(values));
    comm::Work sum = group->all_reduce(buffer);                          // 3, 6, 9
    comm::Work product = group->all_reduce(buffer, ReduceOp::kProduct);  // 27, 216, 729
    comm::Work mean = group->all_reduce(buffer, ReduceOp::kMean);        // the same
    mean.synchronize();
    product.synchronize();
    sum.synchronize();
    return values;
  });
  for (const auto& values : results) CHECK(values == std::vector<float>{27, 216, 729});
}

}  // namespace lockstep::test
