// Costs worked out by hand on small round numbers, and the choice against all other divisions.
#include "00_why_many_gpus/strategy/choice.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

namespace {

// 24000 parameters in 4 layers of 8 channels; 10 positions. Of activations a layer keeps, in mixed precision and with
// scores computed again, 80 (4 x 2 + 2) bytes whole and 80 x 12 x 2 that tensor ranks divide.
const Model kSmall{.parameters = 24000, .layers = 4, .hidden = 8, .heads = 4, .sequence = 10};
const Training kMixed{.precision = Precision::kMixed, .recompute = Recompute::kAttention};
constexpr double kWholeBytes = 800, kDividedBytes = 1920;

// 1000 FLOP/s, of which half is reached; 100 and 10 bytes/s.
const Cluster kSlow{.usable_bytes = 1e6,
                    .gpus_per_host = 4,
                    .peak_flops = 1000,
                    .utilisation = 0.5,
                    .within_host = 100,
                    .between_hosts = 10};
constexpr int kSamples = 16;
constexpr double kComputing = 6 * 24000.0 * 160 / 500;  // on one GPU

DivisionCost cost(const Division& division) { return cost_of(division, kSmall, kMixed, kSlow, kSamples); }

}  // namespace

TEST_CASE("one GPU computes and does nothing else", "[plan][chapter]") {
  const DivisionCost alone = cost({});
  CHECK(alone.time.computing == Approx(kComputing));
  CHECK(alone.time.total() == Approx(kComputing));
  CHECK(alone.micro_batches == 16);
  CHECK(alone.memory.total() == Approx(16 * 24000 + 4 * (kWholeBytes + kDividedBytes)));
  CHECK(alone.division.text() == "one GPU");
}

TEST_CASE("data ranks exchange gradients and weights while they compute", "[plan][chapter]") {
  // On two GPUs of a host: of 48000 bytes half is sent twice, in 480 s; a micro-batch's backward pass hides some.
  const double computing = kComputing / 2, pass = computing / 8 * 2 / 3;
  const DivisionCost ddp = cost({.data = 2});
  CHECK(ddp.time.computing == Approx(computing));
  CHECK(pass > 480);
  CHECK(ddp.time.data == 0);
  // On eight GPUs of two hosts: 7/8 of 96000 bytes with 10 bytes/s.
  const double hidden = kComputing / 8 / 2 * 2 / 3;
  const DivisionCost wide = cost({.sharding = Sharding::kOptimizer, .data = 8});
  CHECK(wide.micro_batches == 2);
  CHECK(wide.time.data == Approx(96000 * 7 / 8.0 / 10 - hidden));
  CHECK(wide.memory.optimizer == Approx(8 * 24000 / 8.0));
  CHECK(wide.memory.weights == Approx(2 * 24000));
  // ZeRO 2 reduces twice and gathers once, and both backward passes hide it; ZeRO 3 sends 6 m P bytes.
  CHECK(cost({.sharding = Sharding::kGradients, .data = 8}).time.data ==
        Approx(3 * 48000 * 7 / 8.0 / 10 - kComputing / 8 * 2 / 3));
  CHECK(cost({.sharding = Sharding::kWeights, .data = 8}).time.data ==
        Approx(6 * 48000 * 7 / 8.0 / 10 - kComputing / 8));
}

TEST_CASE("tensor ranks sum activations four times a layer, and hide nothing", "[plan][chapter]") {
  const DivisionCost four = cost({.tensor = 4});
  // 160 bytes of activations, 2 x 3/4 of which are sent, for 4 sums, 4 layers and 16 micro-batches.
  CHECK(four.time.tensor == Approx(4 * 4 * 16 * 1.5 * 160 / 100));
  CHECK(four.memory.activations == Approx(4 * (kWholeBytes + kDividedBytes / 4)));
  CHECK(four.memory.weights == Approx(2 * 24000 / 4.0));
  CHECK(four.division.text() == "tensor 4");
}

TEST_CASE("more samples at once keep more activations, and make fewer micro-batches", "[plan][chapter]") {
  const DivisionCost four = cost({.sharding = Sharding::kWeights, .data = 2, .micro_batch = 4});
  CHECK(four.micro_batches == 2);
  CHECK(four.memory.activations == Approx(4 * 4 * (kWholeBytes + kDividedBytes)));
  // ZeRO 3 sends half of 6 m P bytes between two ranks of a host, and computing hides them.
  const DivisionCost one = cost({.sharding = Sharding::kWeights, .data = 2});
  CHECK(one.time.data == Approx(std::max(0.0, 6.0 * 8 * 24000 / 2 / 100 - kComputing / 2)));
  CHECK(four.time.data == Approx(std::max(0.0, 6.0 * 2 * 24000 / 2 / 100 - kComputing / 2)));
  // The same elements are summed in fewer, larger messages.
  CHECK(cost({.tensor = 2, .micro_batch = 4}).time.tensor == Approx(cost({.tensor = 2}).time.tensor));
}

TEST_CASE("a pipeline is idle, and holds as many micro-batches as it has stages", "[plan][chapter]") {
  const DivisionCost four = cost({.pipeline = 4});
  CHECK(four.time.pipeline == Approx(kComputing / 4 * 3 / 16));
  CHECK(four.memory.activations == Approx(4 * 1 * (kWholeBytes + kDividedBytes)));
  const DivisionCost three_ways = cost({.sharding = Sharding::kOptimizer, .data = 2, .tensor = 2, .pipeline = 4});
  CHECK(three_ways.division.text() == "tensor 2 x pipeline 4 x ZeRO 1 on 2");
  CHECK(three_ways.division.ranks() == 16);
  // Two data ranks with two tensor ranks each are on one host: 2 x 1/2 of 2 bytes for each of 3000 parameters.
  CHECK(three_ways.time.data == Approx(std::max(0.0, 6000.0 / 100 - kComputing / 16 / 8 * 2 / 3)));
  const double before = three_ways.time.computing + three_ways.time.tensor;
  CHECK(three_ways.time.pipeline == Approx(before * 3 / 8));
  CHECK_THROWS_AS(cost({.data = 3}), ContractError);
}

TEST_CASE("only what is possible is compared, each once", "[plan][chapter]") {
  std::set<std::pair<std::string, int>> seen;
  for (const Division& division : possible_divisions(kSmall, kSlow, kSamples, 8)) {
    CHECK(division.ranks() == 8);
    CHECK(seen.emplace(division.text(), division.micro_batch).second);
    CHECK(division.tensor <= 4);    // of a host, and heads
    CHECK(division.pipeline <= 4);  // layers
    CHECK(kSamples % (division.data * division.micro_batch) == 0);
    if (division.tensor * division.pipeline > 1) CHECK(division.sharding <= Sharding::kOptimizer);
  }
  // By tensor x pipeline: 1x1 has four stages of ZeRO; 1x2, 1x4, 2x1, 2x2 and 4x1 have two; 2x4 and 4x2 have one. With
  // 8, 4, 2 and 1 data ranks there are 2, 3, 4 and 5 sizes of micro-batches.
  CHECK(seen.size() == 4 * 2 + 2 * (3 + 4 + 3 + 4 + 4) + 5 + 5);
  CHECK(possible_divisions(kSmall, kSlow, kSamples, 7).empty());
}

TEST_CASE("the choice fits, and nothing that fits is much faster", "[plan][chapter]") {
  const Cluster cluster;
  for (const double billions : {1.3, 7.0, 70.0}) {
    for (const int gpus : {1, 8, 64, 1024}) {
      INFO(billions << "B on " << gpus);
      const Model model{.parameters = billions * 1e9, .layers = 64, .hidden = 8192, .heads = 64, .sequence = 2048};
      const auto chosen = choose(model, kMixed, cluster, 1024, gpus);
      bool fits_any = false;
      for (const Division& division : possible_divisions(model, cluster, 1024, gpus)) {
        const DivisionCost other = cost_of(division, model, kMixed, cluster, 1024);
        if (other.memory.total() > cluster.usable_bytes) continue;
        fits_any = true;
        REQUIRE(chosen.has_value());
        CHECK(chosen->time.total() <= 1.03 * other.time.total());
      }
      CHECK(chosen.has_value() == fits_any);
      if (chosen) CHECK(chosen->memory.total() <= cluster.usable_bytes);
    }
  }
}

TEST_CASE("of equally fast ways the simplest is chosen", "[plan][chapter]") {
  // Nothing has to be sent for long: all ways without a bubble are equally fast, and DDP is the simplest.
  Cluster fast = kSlow;
  fast.within_host = fast.between_hosts = 1e12;
  CHECK(choose(kSmall, kMixed, fast, kSamples, 4)->division.text() == "DDP on 4");
  // Into three quarters of what it takes DDP does not fit; ZeRO 1 is the next.
  fast.usable_bytes = 16 * 24000 * 0.75;
  CHECK(choose(kSmall, kMixed, fast, kSamples, 4)->division.text() == "ZeRO 1 on 4");
  fast.usable_bytes = 1000;
  CHECK_FALSE(choose(kSmall, kMixed, fast, kSamples, 4).has_value());
}
