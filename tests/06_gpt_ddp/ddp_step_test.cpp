// Parts of a step of DistributedDataParallel: micro-batches, rebuilt buckets, tied weights, hooks,
// buffers.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "06_gpt_ddp/ddp/comm_hook.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "base/error.hpp"
#include "branch_model.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

std::vector<std::vector<std::size_t>> layout_of(const ddp::DistributedDataParallel& ddp) {
  std::vector<std::vector<std::size_t>> layout;
  for (const ddp::Bucket& bucket : ddp.buckets()) layout.push_back(bucket.parameters);
  return layout;
}

// Where the buckets' memory is; null if they do not share it.
const Storage* memory_of(const ddp::DistributedDataParallel& ddp) {
  const Storage* const first = ddp.buckets().front().gradients.storage().get();
  const auto is_elsewhere = [first](const ddp::Bucket& bucket) { return bucket.gradients.storage().get() != first; };
  return std::ranges::any_of(ddp.buckets(), is_elsewhere) ? nullptr : first;
}

// The gradients of one process, as all_gradients().
std::vector<float> gradients_alone(const std::vector<std::size_t>& branches, const std::vector<float>& input = {1, 2}) {
  const BranchModel model;
  model.loss(branches, input).backward();
  return all_gradients(model);
}

constexpr std::chrono::milliseconds kComputing{10}, kSending{20};

// A collective that each waiting rank awaits kSending longer.
class SlowWork final : public comm::WorkState {
 public:
  explicit SlowWork(comm::Work work) : work_(std::move(work)) {}
  void wait(Stream& /*stream*/) override { synchronize(); }
  void synchronize() override {
    std::this_thread::sleep_for(kSending);
    work_.synchronize();
  }
  [[nodiscard]] bool is_completed() const override { return work_.is_completed(); }

 private:
  comm::Work work_;
};

}  // namespace

TEST_CASE("micro-batches accumulate to the gradient of the whole batch, and only the last one sends",
          "[ddp][multirank]") {
  std::vector<std::vector<float>> whole(2), parts(2);
  std::vector<std::vector<std::uint64_t>> sent(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    const Shard shard = shard_of(static_cast<int>(rank));
    model.loss(shard.features, shard.targets).backward();
    whole[rank] = all_gradients(model);
    model.zero_grad();
    int issued = 0;
    ddp.register_comm_hook([&issued](comm::ProcessGroup& through, const ddp::Bucket& bucket) {
      ++issued;
      return ddp::all_reduce_hook(through, bucket);
    });
    const std::vector<Part> rows = row_by_row(shard);
    for (const Part& part : ddp.accumulate(rows)) {
      model.loss(part.features, part.targets).backward(part.weight);
      sent[rank].push_back(static_cast<std::uint64_t>(issued));
    }
    parts[rank] = all_gradients(model);
  });
  CHECK(parts[0] == parts[1]);
  CHECK(sent[0] == std::vector<std::uint64_t>{0, 0, 1});
  // Elements below 4, each a sum of 6 products, in another order: a few roundings of 2^-24 * 4.
  for (std::size_t i = 0; i < whole[0].size(); ++i) CHECK(std::abs(parts[0][i] - whole[0][i]) < 2e-6F);
}

TEST_CASE("buckets are rebuilt once, not inside accumulation, in the order in which rank 0 got its gradients",
          "[ddp][multirank]") {
  const auto options = GENERATE(ddp::DdpOptions{}, kOneEach);
  const bool has_one_each = options.bucket_limits.bytes == 1;
  using Layout = std::vector<std::vector<std::size_t>>;
  std::vector<Layout> first(3), inside(3), second(3), last(3);
  std::vector<std::vector<float>> gradients(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    ddp::DistributedDataParallel ddp(model, *group, options);
    // Backward gets a, c, b on rank 0, and other orders elsewhere.
    const std::vector<std::vector<std::size_t>> orders{{1, 2, 0}, {0, 1, 2}, {2, 0, 1}};
    first[rank] = layout_of(ddp);
    const Storage* const memory = memory_of(ddp);
    {
      const auto no_sync = ddp.no_sync();
      model.loss(orders[rank]).backward();
    }
    inside[rank] = layout_of(ddp);
    model.loss(orders[rank]).backward();
    second[rank] = layout_of(ddp);
    if (memory == nullptr || memory_of(ddp) != memory) throw Error("the new buckets are in other memory");
    model.zero_grad();
    model.loss(orders[(rank + 1) % 3]).backward();
    last[rank] = layout_of(ddp);
    gradients[rank] = all_gradients(model);
  });
  const Layout as_registered = has_one_each ? Layout{{2}, {1}, {0}} : Layout{{2, 1, 0}};
  const Layout as_on_rank_0 = has_one_each ? Layout{{0}, {2}, {1}} : Layout{{0, 2, 1}};
  CHECK(first == std::vector<Layout>(3, as_registered));
  CHECK(inside == first);
  CHECK(second == std::vector<Layout>(3, as_on_rank_0));
  CHECK(last == second);
  const auto alone = gradients_alone({0, 1, 2});
  for (const auto& own : gradients) {
    CHECK(own == gradients[0]);
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(std::abs(own[i] - alone[i]) <= 1e-5F * std::abs(alone[i]));
  }
}

TEST_CASE("the first step of a new wrapper adds up in the order of a later step of an old one", "[ddp][multirank]") {
  // A run that is resumed makes a new wrapper. Three ranks round a ring: what is added to what first depends on where
  // in a bucket an element lies.
  std::vector<std::vector<float>> old(3), fresh(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = ring::make_ring_process_group(std::move(context), {.small_bytes = 0});
    BranchModel model(0.1F);
    const std::vector<float> input{0.3F + static_cast<float>(rank), 1.7F - static_cast<float>(rank) * 0.9F};
    {
      const ddp::DistributedDataParallel ddp(model, *group);
      model.loss({2, 0, 1}, input).backward();
      model.zero_grad();
      model.loss({2, 0, 1}, input).backward();
      old[rank] = all_gradients(model);
    }
    model.zero_grad();
    const ddp::DistributedDataParallel ddp(model, *group);
    model.loss({2, 0, 1}, input).backward();
    fresh[rank] = all_gradients(model);
  });
  CHECK(fresh == old);
}

TEST_CASE("a weight that is used twice gets both contributions and leaves once", "[ddp][multirank]") {
  std::vector<std::vector<float>> gradients(2);
  std::vector<std::vector<std::size_t>> left(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    ddp::DistributedDataParallel ddp(model, *group, kOneEach);
    ddp.register_comm_hook([&](comm::ProcessGroup& through, const ddp::Bucket& bucket) {
      left[rank].push_back(bucket.parameters.front());
      return ddp::all_reduce_hook(through, bucket);
    });
    model.loss({0, 1, 2, 0}, {1, static_cast<float>(rank)}).backward();
    gradients[rank] = all_gradients(model);
  });
  CHECK(left[0] == std::vector<std::size_t>{2, 1, 0});  // in the order of their last contributions, each once
  CHECK(gradients[0] == gradients[1]);
  const auto of_0 = gradients_alone({0, 1, 2, 0}, {1, 0}), of_1 = gradients_alone({0, 1, 2, 0}, {1, 1});
  for (std::size_t i = 0; i < of_0.size(); ++i) CHECK(gradients[0][i] == (of_0[i] + of_1[i]) / 2);  // small integers
}

TEST_CASE("a hook decides how a bucket travels, and sees the buckets in order", "[ddp][multirank]") {
  std::vector<std::vector<std::size_t>> seen(2);
  std::vector<std::vector<float>> gradients(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group, kOneEach);
    ddp.register_comm_hook([&](comm::ProcessGroup& through, const ddp::Bucket& bucket) {
      seen[rank].push_back(bucket.index);
      return through.all_reduce(ddp::as_buffer(bucket.gradients), comm::ReduceOp::kSum);
    });
    const Shard shard = shard_of(static_cast<int>(rank));
    model.loss(shard.features, shard.targets).backward(0.5);
    gradients[rank] = all_gradients(model);
  });
  CHECK(seen[0] == std::vector<std::size_t>{0, 1, 2, 3});
  const auto expected = recorded().at("gradients").at("0.weight").get<std::vector<float>>();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(gradients[1][i] - expected[i]) < 2e-6F);
}

TEST_CASE("bf16_compress_hook sends half the bytes and averages to bfloat16's precision", "[ddp][multirank]") {
  std::vector<std::vector<float>> exact(2), compressed(2);
  std::vector<std::uint64_t> exact_bytes(2), compressed_bytes(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = ring::make_ring_process_group(std::move(context), {.small_bytes = 0});
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    const Shard shard = shard_of(static_cast<int>(rank));
    const auto bytes_of_step = [&] {
      const auto before = group->traffic_sent().payload_bytes;
      model.zero_grad();
      model.loss(shard.features, shard.targets).backward();
      return static_cast<std::uint64_t>(group->traffic_sent().payload_bytes - before);
    };
    (void)bytes_of_step();  // rebuilds the buckets
    exact_bytes[rank] = bytes_of_step();
    exact[rank] = all_gradients(model);
    ddp.register_comm_hook(ddp::bf16_compress_hook());
    compressed_bytes[rank] = bytes_of_step();
    (void)bytes_of_step();
    compressed[rank] = all_gradients(model);
  });
  CHECK(compressed[0] == compressed[1]);
  CHECK(compressed[0] != exact[0]);
  constexpr std::uint64_t kCensusBytes =
      8;  // of the all_reduce that tells of faults: with 2 ranks each sends all of it
  CHECK(2 * (compressed_bytes[0] - kCensusBytes) == exact_bytes[0] - kCensusBytes);
  float largest = 0;
  for (const float value : exact[0]) largest = std::max(largest, std::abs(value));
  // Two summands and their sum are each rounded to 8 bits: three errors of 2^-9 of at most 2 * 4 * the largest mean
  // (the ranks' own gradients are larger than their mean), halved.
  for (std::size_t i = 0; i < exact[0].size(); ++i) {
    CHECK(std::abs(compressed[0][i] - exact[0][i]) <= 12 * largest / 512);
  }
}

TEST_CASE("communication is exposed where backward waits for it, not where it still computes", "[ddp]") {
  std::chrono::nanoseconds exposed{}, backward{};
  run_all(1, [&](comm::JobContext context) {
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group, kOneEach);
    const Shard shard = shard_of(0);
    model.loss(shard.features, shard.targets).backward();  // nothing leaves before its end
    ddp.register_comm_hook([](comm::ProcessGroup& through, const ddp::Bucket& bucket) {
      std::this_thread::sleep_for(kComputing);
      return comm::Work(std::make_shared<SlowWork>(ddp::all_reduce_hook(through, bucket)));
    });
    model.zero_grad();
    const Variable loss = model.loss(shard.features, shard.targets);
    const auto begin = std::chrono::steady_clock::now();
    loss.backward();
    backward = std::chrono::steady_clock::now() - begin;
    exposed = ddp.exposed_communication();
  });
  constexpr int kBuckets = 4;
  CHECK(exposed >= kBuckets * kSending);
  CHECK(backward - exposed >= kBuckets * kComputing);
}

TEST_CASE("rank 0's buffers are everybody's at the start and at the beginning of each step", "[ddp][multirank]") {
  const bool is_on = GENERATE(true, false);
  std::vector<float> at_start(2), in_step(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    float& shift = model.shift().span<float>()[1];
    shift = 5 + static_cast<float>(rank);
    ddp::DistributedDataParallel ddp(model, *group, {.broadcast_buffers = is_on});
    at_start[rank] = shift;
    shift = 8 + static_cast<float>(rank);
    const std::vector<Part> parts(1);
    for ([[maybe_unused]] const Part& part : ddp.accumulate(parts)) {
      in_step[rank] = shift;
      model.loss({0, 1, 2}).backward();
    }
  });
  CHECK(at_start == (is_on ? std::vector<float>{5, 5} : std::vector<float>{5, 6}));
  CHECK(in_step == (is_on ? std::vector<float>{8, 8} : std::vector<float>{8, 9}));
}

TEST_CASE("without averaging every rank keeps its own gradient", "[ddp][multirank]") {
  std::vector<std::vector<float>> gradients(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    const ddp::DistributedDataParallel ddp(model, *group, {.average_gradients = false});
    model.loss({0, 1, 2}, {1, static_cast<float>(rank)}).backward();
    gradients[rank] = all_gradients(model);
  });
  CHECK(gradients[0] == gradients_alone({0, 1, 2}, {1, 0}));
  CHECK(gradients[1] == gradients_alone({0, 1, 2}, {1, 1}));
}
