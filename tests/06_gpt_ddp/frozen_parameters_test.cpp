// Parameters that are unfrozen after wrapping, and buffers in loops of any form: what nobody averages or copies must
// not stay unnoticed.
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "branch_model.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

Variable parameter(const nn::Module& model, std::size_t index) { return model.parameters().at(index); }

// A BranchModel whose "b" and "c" are frozen.
struct PartlyFrozen : BranchModel {
  PartlyFrozen() { freeze(true); }
  void freeze(bool is_frozen) {
    for (const std::size_t i : {1, 2}) parameter(*this, i).set_requires_grad(!is_frozen);
  }
};

}  // namespace

TEST_CASE("a gradient of a parameter that was frozen when it was wrapped is an error on all ranks",
          "[ddp][multirank][fault]") {
  // The actions of each rank between wrapping and its second backward, and whom the message names.
  struct Case {
    std::string name;
    std::vector<bool> unfreezes;                     // by rank
    std::vector<std::vector<std::size_t>> branches;  // by rank: in the loss
    bool freezes_a;
    std::string expected;
  };
  const Case wrong =
      GENERATE(Case{"on all ranks", {true, true}, {{0, 1, 2}, {0, 1, 2}}, false, "b on all ranks, c on all ranks"},
               Case{"on one rank", {false, true}, {{0, 1}, {0, 1}}, false, "b on rank 1"},
               Case{"in place of what was trained", {true, true}, {{1}, {1}}, true, "b on all ranks"},
               Case{"in the loss of one rank", {true, true}, {{0}, {0, 2}}, false, "c on rank 1"});
  const auto options = GENERATE(ddp::DdpOptions{}, kOneEach, ddp::DdpOptions{.find_unused_parameters = true},
                                ddp::DdpOptions{.static_graph = true});
  const auto messages = messages_of(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    PartlyFrozen model;
    const ddp::DistributedDataParallel ddp(model, *group, options);
    model.loss({0, 1, 2}).backward();
    model.zero_grad();
    if (wrong.unfreezes[rank]) model.freeze(false);
    if (wrong.freezes_a) parameter(model, 0).set_requires_grad(false);
    model.loss(wrong.branches[rank]).backward();
    throw Error("an optimizer would have stepped");
  });
  for (const std::string& message : messages) {
    INFO(wrong.name);
    CHECK_THAT(message, ContainsSubstring("step 2: nobody averages the gradient of " + wrong.expected + ":") &&
                            ContainsSubstring("wrap the model again"));
  }
}

TEST_CASE("a gradient that an earlier micro-batch left to a frozen parameter is found, too",
          "[ddp][multirank][fault]") {
  const bool is_accumulate = GENERATE(true, false);
  const auto messages = messages_of(2, [&](comm::JobContext context) {
    const Group group = make_group(std::move(context));
    PartlyFrozen model;
    ddp::DistributedDataParallel ddp(model, *group);
    model.freeze(false);
    const auto first = [&] { model.loss({0, 1}).backward(0.5); };
    const auto last = [&] {
      parameter(model, 2).set_requires_grad(false);
      model.loss({0}).backward(0.5);
    };
    if (is_accumulate) {
      const std::vector<int> parts{0, 1};
      for (const int part : ddp.accumulate(parts)) part == 0 ? first() : last();
    } else {
      {
        const auto scope = ddp.no_sync();
        first();
      }
      last();
    }
    throw Error("an optimizer would have stepped");
  });
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("nobody averages the gradient of b on all ranks"));
  }
}

TEST_CASE("what is unfrozen and wrapped again is averaged, and what stays out of the loss is no error",
          "[ddp][multirank]") {
  std::vector<std::vector<float>> gradients(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    PartlyFrozen model;
    {
      const ddp::DistributedDataParallel ddp(model, *group);
      model.freeze(false);
      model.loss({0}).backward();  // no gradient for the others
      model.zero_grad();
    }
    for (const Variable& each : model.parameters()) {
      if (!each.observers().empty()) throw Error("a wrapper that has gone still watches");
    }
    const ddp::DistributedDataParallel again(model, *group);
    model.loss({0, 1, 2}, rank == 0 ? std::vector<float>{1, 2} : std::vector<float>{2, 3}).backward();
    const auto of_b = parameter(model, 1).gradient().span<float>();
    gradients[rank].assign(of_b.begin(), of_b.end());
  });
  CHECK(gradients[0] == gradients[1]);
}

TEST_CASE("a rank that trains for itself may unfreeze what it likes", "[ddp][multirank]") {
  run_all(2, [&](comm::JobContext context) {
    const Group group = make_group(std::move(context));
    PartlyFrozen model;
    const ddp::DistributedDataParallel ddp(model, *group, {.average_gradients = false});
    model.freeze(false);
    model.loss({0, 1}).backward();
  });
}

namespace {

// The buffer's first element after each of `steps`, on each rank; forward adds the rank's number and one.
using Histories = std::vector<std::vector<float>>;
using Step = std::function<void(BranchModel&, ddp::DistributedDataParallel&, const std::function<void()>& forward)>;

Histories histories(int steps, const ddp::DdpOptions& options, const Step& step) {
  Histories all(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    ddp::DistributedDataParallel ddp(model, *group, options);
    float& mean = model.shift().span<float>()[0];
    for (int i = 0; i < steps; ++i) {
      model.zero_grad();
      step(model, ddp, [&] { mean += 1 + static_cast<float>(rank); });
      all[rank].push_back(mean);
    }
  });
  return all;
}

}  // namespace

TEST_CASE("after each step's backward every rank has rank 0's buffers, in a loop of any form", "[ddp][multirank]") {
  // rank 0 adds 1 in each forward
  const auto plain = [](BranchModel& model, ddp::DistributedDataParallel&, const std::function<void()>& forward) {
    forward();
    model.loss({0, 1, 2}).backward();
  };
  CHECK(histories(3, {}, plain) == Histories(3, {1, 2, 3}));
  const auto no_sync = [](BranchModel& model, ddp::DistributedDataParallel& ddp, const std::function<void()>& forward) {
    {
      const auto scope = ddp.no_sync();
      forward();
      model.loss({0, 1, 2}).backward();
    }
    forward();
    model.loss({0, 1, 2}).backward();
  };
  CHECK(histories(2, {}, no_sync) == Histories(3, {2, 4}));
  const auto accumulate = [](BranchModel& model, ddp::DistributedDataParallel& ddp,
                             const std::function<void()>& forward) {
    const std::vector<int> parts{0, 1};
    for ([[maybe_unused]] const int part : ddp.accumulate(parts)) {
      forward();
      model.loss({0, 1, 2}).backward();
    }
  };
  CHECK(histories(2, {}, accumulate) == Histories(3, {2, 4}));
}

TEST_CASE("a rank without data has rank 0's buffers after the step, too", "[ddp][multirank]") {
  std::vector<float> found(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    ddp::DistributedDataParallel ddp(model, *group);
    const std::vector<int> parts(rank == 2 ? 0 : 1);
    for ([[maybe_unused]] const int part : ddp.accumulate(parts)) {
      model.shift().span<float>()[0] = 7 + static_cast<float>(rank);
      model.loss({0, 1, 2}).backward();
    }
    found[rank] = model.shift().span<float>()[0];
  });
  CHECK(found == std::vector<float>(3, 7));
}

TEST_CASE("buffers stay each rank's own if the options say so, and if nothing is averaged", "[ddp][multirank]") {
  const auto plain = [](BranchModel& model, ddp::DistributedDataParallel&, const std::function<void()>& forward) {
    forward();
    model.loss({0, 1, 2}).backward();
  };
  const auto options =
      GENERATE(ddp::DdpOptions{.broadcast_buffers = false}, ddp::DdpOptions{.average_gradients = false});
  CHECK(histories(2, options, plain) == Histories{{1, 2}, {2, 4}, {3, 6}});
}
