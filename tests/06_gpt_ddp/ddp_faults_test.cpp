// Faults of gradients, and exceptions that are allowed: unused parameters, changing graphs, numbers that are not
// finite.
#include <limits>
#include <string>
#include <vector>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "branch_model.hpp"
#include "nn/layers.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

std::vector<float> gradient_of(const nn::Module& model, std::size_t parameter) {
  const auto gradient = model.parameters().at(parameter).gradient().span<float>();
  return {gradient.begin(), gradient.end()};
}

}  // namespace

TEST_CASE("unused parameters are named on all ranks in the same step, whoever misses them", "[ddp][multirank]") {
  using Branches = std::vector<std::vector<std::size_t>>;
  const auto [used, expected] = GENERATE(table<Branches, std::string>({
      {{{0, 1, 2}, {0, 2}, {0, 1, 2}}, "b on rank 1;"},
      {{{0, 1}, {0, 2}, {0, 1, 2}}, "b on rank 1, c on rank 0;"},
      {{{1, 2}, {1, 2}, {1, 2}}, "a on all ranks;"},
      {{{1, 2}, {0, 1, 2}, {1, 2}}, "a on ranks 0, 2;"},
  }));
  const auto messages = messages_of(3, [&, used = used](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    const ddp::DistributedDataParallel ddp(model, *group);
    model.loss({0, 1, 2}).backward();
    model.zero_grad();
    model.loss(used[rank]).backward();
    throw Error("an optimizer would have stepped");
  });
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 2") && ContainsSubstring("no gradient to " + expected));
  }
}

TEST_CASE("faults of ranks that are a part of the job are named by their numbers in the job", "[ddp][multirank]") {
  const auto reversed = [](comm::ProcessGroup& world) { return world.split(0, /*key=*/1 - world.rank()); };
  const auto faults = messages_of(2, [&](comm::JobContext context) {
    const Group world = make_group(std::move(context)), group = reversed(*world);
    BranchModel model;
    const ddp::DistributedDataParallel ddp(model, *group);
    model.loss(world->rank() == 0 ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0, 1, 2}).backward();
  });
  for (const std::string& message : faults) CHECK_THAT(message, ContainsSubstring("no gradient to c on rank 0;"));
  const auto layouts = messages_of(2, [&](comm::JobContext context) {
    const Group world = make_group(std::move(context)), group = reversed(*world);
    nn::Linear model(2, 3 + world->rank(), 1);
    const ddp::DistributedDataParallel ddp(model, *group);
  });
  for (const std::string& message : layouts)
    CHECK_THAT(message, ContainsSubstring("of 2 tensors on rank 1 and 2 on rank 0, number 1 is"));
}

TEST_CASE("with find_unused_parameters an unused one counts as zeros, and on no rank stays unwritten",
          "[ddp][multirank]") {
  std::vector<std::vector<float>> means(2);
  std::vector<int> is_c_written(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    const ddp::DistributedDataParallel ddp(model, *group, {.find_unused_parameters = true});
    for (int step = 0; step < 2; ++step) {  // the second one with rebuilt buckets
      model.zero_grad();
      model.loss(rank == 0 ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1}).backward();
    }
    means[rank] = gradient_of(model, 0);
    is_c_written[rank] = model.parameters()[2].has_gradient();
  });
  BranchModel alone;
  alone.loss({0, 1}).backward();
  auto half = gradient_of(alone, 0);
  for (float& value : half) value /= 2;
  CHECK(means[0] == half);
  CHECK(means[1] == half);
  CHECK(is_c_written == std::vector<int>{0, 0});
}

TEST_CASE("static_graph takes the first step's parameters for granted and names a change on all ranks",
          "[ddp][multirank]") {
  std::vector<std::vector<float>> gradients(2);
  const auto messages = messages_of(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    const ddp::DistributedDataParallel ddp(model, *group, {.static_graph = true});
    for (int step = 0; step < 3; ++step) {
      model.zero_grad();
      model.loss({0, 1}).backward();
    }
    gradients[rank] = gradient_of(model, 1);
    if (model.parameters()[2].has_gradient()) throw Error("an unused parameter was written");
    model.zero_grad();
    model.loss(rank == 1 ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{0, 1}).backward();
  });
  for (const std::string& message : messages) {
    CHECK_THAT(message,
               ContainsSubstring("step 4") && ContainsSubstring("static_graph") && ContainsSubstring("c on rank 1"));
  }
  BranchModel alone;
  alone.loss({0, 1}).backward();
  CHECK(gradients == std::vector(2, gradient_of(alone, 1)));
}

TEST_CASE("with static_graph no bucket waits for a parameter that this rank does not use", "[ddp][multirank]") {
  std::vector<std::vector<bool>> is_a_there(2);  // by rank and bucket: when it left in the second step
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    auto options = kOneEach;
    options.static_graph = true;
    ddp::DistributedDataParallel ddp(model, *group, options);
    ddp.register_comm_hook([&](comm::ProcessGroup& through, const ddp::Bucket& bucket) {
      is_a_there[rank].push_back(model.parameters()[0].has_gradient());
      return ddp::all_reduce_hook(through, bucket);
    });
    for (int step = 0; step < 2; ++step) {  // backward gets c, b, a on rank 0 and b, a on rank 1
      is_a_there[rank].clear();
      model.zero_grad();
      model.loss(rank == 0 ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{0, 1}).backward();
    }
  });
  CHECK(is_a_there == std::vector(2, std::vector{false, false, true}));
}

TEST_CASE("a gradient that is not finite names rank, tensor and step on all ranks", "[ddp][multirank]") {
  const float bad = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  const auto messages = messages_of(3, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    const Shard shard = shard_of(0);
    if (rank == 2) shard.targets.span<float>()[0] = bad;
    const std::vector<Part> rows = row_by_row(shard, 41);
    for (const Part& part : ddp.accumulate(rows)) {
      model.loss(part.features, part.targets).backward(part.weight);
    }
    throw Error("an optimizer would have stepped");
  });
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 42") && ContainsSubstring("2.bias on rank 2"));
  }
}
