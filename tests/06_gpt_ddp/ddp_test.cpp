#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "branch_model.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;

TEST_CASE("averaged gradients are those of PyTorch's DistributedDataParallel", "[ddp][multirank]") {
  const auto options = GENERATE(ddp::DdpOptions{}, kOneEach);
  std::vector<std::vector<float>> gradients(2);
  run_all(2, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group, options);
    const Shard shard = shard_of(rank);
    model.loss(shard.features, shard.targets).backward();
    gradients[static_cast<std::size_t>(rank)] = all_gradients(model);
  });
  std::vector<float> expected;
  for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    for (const float value : recorded().at("gradients").at(name).get<std::vector<float>>()) expected.push_back(value);
  }
  REQUIRE(gradients[0].size() == expected.size());
  // Sums of at most 6 products of values below 4: a few units in the last place of float32.
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(gradients[0][i] - expected[i]) < 2e-6F);
  CHECK(gradients[0] == gradients[1]);
}

TEST_CASE("the constructor gives every rank the parameters of rank 0", "[ddp][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 5);
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(world_size));
  run_all(world_size, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    for (const Variable& parameter : model.parameters()) parameter.value().span<float>()[0] += static_cast<float>(rank);
    const ddp::DistributedDataParallel ddp(model, *group);
    digests[static_cast<std::size_t>(rank)] = ddp::parameter_digest(model);
  });
  const SmallModel original(recorded().at("parameters"));
  for (const std::uint64_t digest : digests) CHECK(digest == ddp::parameter_digest(original));
}

TEST_CASE("a frozen parameter comes from rank 0 and is neither awaited nor averaged", "[ddp][multirank]") {
  std::vector<std::vector<float>> gradients(2);
  std::vector<float> first_elements(2);
  const auto gradients_of_others = [](const SmallModel& model) {
    std::vector<float> all;
    for (const nn::NamedParameter& named : nn::trained_parameters(model)) {
      const auto elements = named.parameter.gradient().span<float>();
      all.insert(all.end(), elements.begin(), elements.end());
    }
    return all;
  };
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    const Variable frozen = model.parameters()[2];
    if (rank == 1) frozen.value().span<float>()[0] += 1;
    frozen.set_requires_grad(false);
    const ddp::DistributedDataParallel ddp(model, *group);
    first_elements[rank] = frozen.value().span<float>()[0];
    const Shard shard = shard_of(static_cast<int>(rank));
    model.loss(shard.features, shard.targets).backward();
    if (frozen.has_gradient()) throw Error("a frozen parameter has a gradient");
    gradients[rank] = gradients_of_others(model);
  });
  CHECK(first_elements[0] == first_elements[1]);
  CHECK(gradients[0] == gradients[1]);
  std::vector<float> expected;
  for (const char* name : {"0.weight", "0.bias", "2.bias"}) {
    for (const float value : recorded().at("gradients").at(name).get<std::vector<float>>()) expected.push_back(value);
  }
  REQUIRE(gradients[0].size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(gradients[0][i] - expected[i]) < 2e-6F);
}

TEST_CASE("ranks that freeze different parameters are told so", "[ddp][multirank]") {
  const auto messages = messages_of(2, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    model.parameters()[2].set_requires_grad(rank == 0);
    const ddp::DistributedDataParallel ddp(model, *group);
  });
  for (const std::string& message : messages) CHECK_THAT(message, ContainsSubstring("frozen parameter 2.weight"));
}

TEST_CASE(
    "the wrapper is a module whose names are the wrapped one's after \"module.\", and messages keep the plain names",
    "[ddp]") {
  run_all(1, [&](comm::JobContext context) {
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    const ddp::DistributedDataParallel ddp(model, *group);
    const auto wrapped = ddp.named_parameters(), plain = ddp.module().named_parameters();
    if (wrapped.size() != plain.size()) throw Error("another number of parameters");
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const bool is_named =
          wrapped[i].name == "module." + plain[i].name && plain[i].parameter.node()->name == plain[i].name;
      if (!is_named || !wrapped[i].parameter.is_same(plain[i].parameter)) throw Error(wrapped[i].name);
    }
  });
}

TEST_CASE("buckets fill from the last parameter and respect their sizes", "[ddp]") {
  run_all(1, [&](comm::JobContext context) {
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    const ddp::DistributedDataParallel ddp(model, *group, {.bucket_limits = {.first_bytes = 64, .bytes = 4096}});
    std::vector<std::vector<std::size_t>> layout;
    for (const ddp::Bucket& bucket : ddp.buckets()) layout.push_back(bucket.parameters);
    // 2.bias alone fills the first 64 bytes; 2.weight starts the next.
    if (layout != std::vector<std::vector<std::size_t>>{{3}, {2, 1, 0}}) throw Error("unexpected layout");
  });
}

TEST_CASE("with no_sync nothing is sent, and the next backward averages the accumulated sum", "[ddp][multirank]") {
  std::vector<std::vector<float>> accumulated(2), twice(2);
  std::vector<int> sent_nothing(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    const Shard shard = shard_of(static_cast<int>(rank));
    const auto before = group->traffic_sent().payload_bytes;
    {
      const auto no_sync = ddp.no_sync();
      model.loss(shard.features, shard.targets).backward();
    }
    sent_nothing[rank] = group->traffic_sent().payload_bytes == before;
    model.loss(shard.features, shard.targets).backward();
    accumulated[rank] = all_gradients(model);
    model.zero_grad();
    model.loss(shard.features, shard.targets).backward(2.0);
    twice[rank] = all_gradients(model);
  });
  CHECK(sent_nothing[0]);
  CHECK(accumulated[0] == accumulated[1]);
  CHECK(accumulated[0] == twice[0]);  // g + g and 2 g are the same float
}

TEST_CASE("ranks with different models are told both sides of the first difference, on every rank",
          "[ddp][multirank]") {
  // How rank 1 registers what rank 0 registers as "x.weight" float32 [2, 3] and a buffer "mean" [2].
  struct Case {
    std::string name;
    Shape shape;
    DType dtype;
    std::string buffer;
    int extra;
    std::string expected;
  };
  const Case wrong = GENERATE(
      Case{"y.weight",
           {2, 3},
           DType::kFloat32,
           "mean",
           0,
           "parameter x.weight float32 [2, 3] on rank 0 and parameter y.weight float32 [2, 3] on rank 1"},
      Case{"x.weight", {3, 2}, DType::kFloat32, "mean", 0, "x.weight float32 [3, 2] on rank 1"},
      Case{"x.weight", {2, 3}, DType::kFloat64, "mean", 0, "x.weight float64 [2, 3] on rank 1"},
      Case{"x.weight", {2, 3}, DType::kFloat32, "median", 0, "buffer mean float32 [2] on rank 0 and buffer median"},
      Case{"x.weight", {2, 3}, DType::kFloat32, "mean", 1, "of 2 tensors on rank 0 and 3 on rank 1"});
  class Registered : public nn::Module {
   public:
    explicit Registered(const Case& as) {
      register_parameter(as.name, Tensor::zeros(as.shape, as.dtype));
      if (as.extra > 0) register_parameter("extra", Tensor::zeros({1}));
      register_buffer(as.buffer, Tensor::zeros({2}));
    }
  };
  const auto messages = messages_of(3, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    Registered model(rank == 1 ? wrong : Case{"x.weight", {2, 3}, DType::kFloat32, "mean", 0, ""});
    const ddp::DistributedDataParallel ddp(model, *group);
  });
  for (const std::string& message : messages) CHECK_THAT(message, ContainsSubstring(wrong.expected));
}

TEST_CASE("a replica that drifted is named with its first differing tensor", "[ddp][multirank]") {
  const std::size_t culprit = GENERATE(0, 2);  // rank 0 is no judge: most ranks are
  std::vector<std::string> messages(3);
  std::vector<int> agreed_before(3);  // not bool, whose neighbours share a byte: ranks write side by side
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::require_equal_parameters(model, *group, "before");
    agreed_before[rank] = true;
    if (rank == culprit) {  // one bit of one element
      float& element = model.parameters()[2].value().span<float>()[5];
      element = std::bit_cast<float>(std::bit_cast<std::uint32_t>(element) ^ 1U);
    }
    try {
      ddp::require_equal_parameters(model, *group, "after step 7");
    } catch (const MismatchError& error) {
      messages[rank] = error.what();
    }
  });
  CHECK(std::ranges::all_of(agreed_before, [](int agreed) { return agreed == 1; }));
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("2.weight") && ContainsSubstring(concat("of rank ", culprit, " differs")) &&
                            ContainsSubstring("step 7"));
  }
}

TEST_CASE("metrics are averaged over the ranks", "[ddp][multirank]") {
  std::vector<double> averages(4);
  run_all(4, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    averages[static_cast<std::size_t>(rank)] = ddp::average_over_ranks(*group, 1.0 + rank);
  });
  CHECK(averages == std::vector<double>(4, 2.5));
}

TEST_CASE("a module that cannot be wrapped is left as it was", "[ddp]") {
  BranchModel model;
  const std::vector<std::string> messages = messages_of(1, [&](comm::JobContext context) {
    class Shared : public nn::Module {
     public:
      explicit Shared(const Variable& parameter) { register_tied_parameter("b", parameter); }
    };
    const Group group = make_group(std::move(context));
    Shared part(model.parameters().at(1));
    const ddp::DistributedDataParallel of_part(part, *group);
    const ddp::DistributedDataParallel ddp(model, *group);
  });
  CHECK_THAT(messages.at(0), ContainsSubstring("parameter b is averaged already"));
  for (const nn::NamedParameter& named : model.named_parameters()) {
    CHECK(named.parameter.observers().empty());
    CHECK(named.parameter.name() == named.name);
  }
  CHECK_NOTHROW(model.loss({0, 1, 2}).backward());  // calls no observer that has gone
}

TEST_CASE("a wrapper that is given an old one's order of buckets adds up as that one, whatever its first step uses",
          "[ddp][multirank]") {
  // Three ranks round a ring: what is added to what first depends on where in a bucket an element lies.
  std::vector<std::vector<float>> old(3), restored(3), fresh(3);
  std::vector<std::vector<std::string>> order(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = ring::make_ring_process_group(std::move(context), {.small_bytes = 0});
    BranchModel model(0.1F);
    const auto step = [&](const std::vector<std::size_t>& branches) {
      const auto own = static_cast<float>(rank);
      model.zero_grad();
      model.loss(branches, {0.3F + own, 1.7F - own * 0.9F}).backward();
      return all_gradients(model);
    };
    {
      const ddp::DistributedDataParallel ddp(model, *group);
      (void)step({2, 0, 1});
      order[rank] = ddp.bucket_order();
      old[rank] = step({0, 1, 2});
    }
    {
      ddp::DistributedDataParallel ddp(model, *group);
      ddp.set_bucket_order(order[rank]);
      restored[rank] = step({0, 1, 2});
    }
    const ddp::DistributedDataParallel ddp(model, *group);
    fresh[rank] = step({0, 1, 2});
  });
  CHECK(order[1] == std::vector<std::string>{"b", "a", "c"});
  CHECK(restored == old);
  CHECK(fresh != old);  // as it would be without
}

TEST_CASE("an order of buckets that is not the model's is refused, an empty one changes nothing", "[ddp]") {
  BranchModel model;
  const auto message_of = [&](const std::vector<std::string>& names) {
    return messages_of(1, [&](comm::JobContext context) {
      const Group group = make_group(std::move(context));
      ddp::DistributedDataParallel ddp(model, *group);
      ddp.set_bucket_order(names);
      if (!ddp.bucket_order().empty()) throw Error("has an order");
    })[0];
  };
  CHECK(message_of({}) == "");
  CHECK(message_of({"c", "a", "b"}) == "has an order");
  CHECK_THAT(message_of({"c", "a", "d"}), ContainsSubstring("has d, which the model does not have"));
  CHECK_THAT(message_of({"c", "a", "a"}), ContainsSubstring("3 names, 2 of them distinct"));
  CHECK_THAT(message_of({"c", "a"}), ContainsSubstring("2 names"));
}
