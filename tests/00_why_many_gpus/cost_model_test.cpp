#include "00_why_many_gpus/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

namespace {

// One message of an all-reduce: `chunk` of `chunks` equal parts of the buffer; it adds to what the receiver has, or
// replaces it.
struct Message {
  int from, to, chunk;
  bool replaces;
};
using Round = std::vector<Message>;  // what is sent before anything of it arrives

struct Plan {
  int chunks;
  std::vector<Round> rounds;
};

Plan star_plan(int world_size) {
  Plan plan{1, {{}, {}}};
  for (int rank = 1; rank < world_size; ++rank) {
    plan.rounds[0].push_back({rank, 0, 0, false});
    plan.rounds[1].push_back({0, rank, 0, true});
  }
  return plan;
}

// In round k rank r sends to rank r + k, so that no port is used twice at once.
Plan mesh_plan(int world_size) {
  Plan plan{1, {}};
  Round all;  // every message carries the sender's own values, so all of them are sent before any is added
  for (int k = 1; k < world_size; ++k) {
    for (int rank = 0; rank < world_size; ++rank) all.push_back({rank, (rank + k) % world_size, 0, false});
  }
  plan.rounds.push_back(all);
  return plan;
}

Plan ring_plan(int world_size) {
  Plan plan{world_size, {}};
  for (int step = 0; step < 2 * (world_size - 1); ++step) {
    Round round;
    for (int rank = 0; rank < world_size; ++rank) {
      const int chunk = (rank - step + 2 * world_size) % world_size;
      round.push_back({rank, (rank + 1) % world_size, chunk, step >= world_size - 1});
    }
    plan.rounds.push_back(round);
  }
  return plan;
}

// Rank r, a multiple of 2d but for d, sends to r - d; then the same backwards.
Plan tree_plan(int world_size) {
  Plan plan{1, {}};
  std::vector<Round> down;
  for (int distance = 1; distance < world_size; distance *= 2) {
    Round up, back;
    for (int rank = distance; rank < world_size; rank += 2 * distance) {
      up.push_back({rank, rank - distance, 0, false});
      back.push_back({rank - distance, rank, 0, true});
    }
    plan.rounds.push_back(up);
    down.insert(down.begin(), back);
  }
  plan.rounds.insert(plan.rounds.end(), down.begin(), down.end());
  return plan;
}

struct Outcome {
  bool is_right = true;      // every rank has every rank's values exactly once in every chunk
  double one_way_bytes = 0;  // the most through one port in one direction
  double seconds = 0;
};

// Runs a plan message by message: values as counts of how often each rank is in a chunk, time as when each port is
// free. A message keeps both ports busy for its bytes, and arrives alpha later; meanwhile the next one may leave.
Outcome run(const Plan& plan, int world_size, double bytes, const Link& link) {
  using Counts = std::vector<int>;  // [rank]
  std::vector<std::vector<Counts>> held(world_size, std::vector<Counts>(plan.chunks, Counts(world_size, 0)));
  for (int rank = 0; rank < world_size; ++rank) {
    for (Counts& counts : held[rank]) counts[rank] = 1;
  }
  const double message_bytes = bytes / plan.chunks;
  std::vector<double> sent(world_size, 0), received(world_size, 0);
  Outcome outcome;
  for (const Round& round : plan.rounds) {
    const auto before = held;
    std::vector<double> out_free(world_size, outcome.seconds), in_free(world_size, outcome.seconds);
    double arrived = outcome.seconds;
    for (const Message& message : round) {
      Counts& counts = held[message.to][message.chunk];
      const Counts& arriving = before[message.from][message.chunk];
      for (int rank = 0; rank < world_size; ++rank) {
        counts[rank] = message.replaces ? arriving[rank] : counts[rank] + arriving[rank];
      }
      sent[message.from] += message_bytes;
      received[message.to] += message_bytes;
      const double start = std::max(out_free[message.from], in_free[message.to]);
      const double end = start + message_bytes / link.bytes_per_second;
      out_free[message.from] = in_free[message.to] = end;
      arrived = std::max(arrived, end + link.alpha_seconds);
    }
    outcome.seconds = arrived;
  }
  for (int rank = 0; rank < world_size; ++rank) {
    outcome.one_way_bytes = std::max({outcome.one_way_bytes, sent[rank], received[rank]});
    for (const Counts& counts : held[rank]) {
      outcome.is_right = outcome.is_right && counts == Counts(world_size, 1);
    }
  }
  return outcome;
}

double squared_relative_error(const std::vector<LinkSample>& samples, const Link& link) {
  double sum = 0;
  for (const LinkSample& sample : samples) {
    sum += std::pow((link.alpha_seconds + sample.bytes / link.bytes_per_second) / sample.seconds - 1, 2);
  }
  return sum;
}

}  // namespace

TEST_CASE("the cost of each all-reduce is that of running it message by message", "[plan][chapter]") {
  const Link link{7e-6, 3e9};
  constexpr double kBytes = 12'345'678;
  const std::vector<std::pair<Algorithm, Plan (*)(int)>> plans = {{Algorithm::kStar, star_plan},
                                                                  {Algorithm::kMesh, mesh_plan},
                                                                  {Algorithm::kRing, ring_plan},
                                                                  {Algorithm::kTree, tree_plan}};
  for (const auto& [algorithm, plan_for] : plans) {
    for (const int world_size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}) {
      const Outcome outcome = run(plan_for(world_size), world_size, kBytes, link);
      const AllReduceCost cost = all_reduce_cost(algorithm, world_size, kBytes);
      INFO(name_of(algorithm) << " of " << world_size);
      CHECK(outcome.is_right);
      CHECK(cost.one_way_bytes == Approx(outcome.one_way_bytes));
      CHECK(cost.seconds(link) == Approx(outcome.seconds).margin(1e-12));
      CHECK(cost.steps * link.seconds(cost.bytes_per_step) == Approx(cost.seconds(link)));
    }
  }
  CHECK_THROWS_AS(all_reduce_cost(Algorithm::kRing, 0, 1), ContractError);
}

TEST_CASE("links have the bandwidths of their specifications", "[plan][chapter]") {
  // One direction, GB/s, as the data sheets round them.
  CHECK(known_link("PCIe 3 x16").one_way_gb_s == Approx(15.75).margin(0.005));
  CHECK(known_link("PCIe 4 x16").one_way_gb_s == Approx(31.5).margin(0.01));
  CHECK(known_link("PCIe 5 x16").one_way_gb_s == Approx(63.0).margin(0.02));
  CHECK(known_link("NVLink 2").one_way_gb_s == 150);
  CHECK(known_link("NVLink 2").label_gb_s == 300);
  CHECK(known_link("NVLink 3").one_way_gb_s == 300);
  CHECK(known_link("NVLink 4").label_gb_s == 900);
  CHECK(known_link("nvswitch").one_way_gb_s == 450);
  CHECK(known_link("InfiniBand HDR").one_way_gb_s == 25);
  CHECK(known_link("InfiniBand NDR").one_way_gb_s == 50);
  CHECK(known_link("10 GbE").one_way_gb_s == 1.25);
  CHECK(known_link("100 GbE").one_way_gb_s == 12.5);
  CHECK_THROWS_WITH(known_link("PCIe 9"), ContainsSubstring("PCIe 3 x16, PCIe 4 x16"));
  CHECK(one_way(known_link("10 GbE")).bytes_per_second == 1.25e9);
}

TEST_CASE("ResNet-50's gradient costs 6 ms and 11 % on PCIe 3, 0.3 ms and 0.6 % on NVLink 2, by the envelope",
          "[plan][chapter]") {
  const Envelope pcie = back_of_the_envelope(100e6, 16, 50);
  CHECK(pcie.exact_ms == Approx(6.25));
  CHECK(pcie.rounded_ms == Approx(6));
  CHECK(pcie.share == Approx(6.0 / 56));
  const Envelope nvlink = back_of_the_envelope(100e6, 300, 50);
  CHECK(nvlink.exact_ms == Approx(1.0 / 3));
  CHECK(nvlink.rounded_ms == Approx(0.3));
  CHECK(nvlink.share == Approx(0.3 / 50.3));
  CHECK(back_of_the_envelope(0, 300, 50).share == 0);
  // Rounding up to the next power of ten.
  CHECK(back_of_the_envelope(96e6, 10, 50).rounded_ms == Approx(10));
}

TEST_CASE("the ring of 4 GPUs sends 150 MB of ResNet-50's 100 MB, each way", "[plan][chapter]") {
  const AllReduceCost ring = all_reduce_cost(Algorithm::kRing, 4, 100e6);
  CHECK(ring.one_way_bytes == Approx(150e6));
  CHECK(ring.steps == 6);
  // 150 MB at 15.754 GB/s are 9.52 ms, 6 steps of 5.7 us are 0.034 ms.
  CHECK(ring.seconds(one_way(known_link("PCIe 3 x16"))) == Approx(9.555e-3).epsilon(1e-3));
  CHECK(ring.seconds(one_way(known_link("NVLink 2"))) == Approx(1.0204e-3).epsilon(1e-3));
}

TEST_CASE("a small buffer among many ranks goes faster through a tree, a large one round the ring", "[plan][chapter]") {
  const Link link = one_way(known_link("InfiniBand HDR"));
  const auto seconds = [&](Algorithm algorithm, double bytes) {
    return all_reduce_cost(algorithm, 64, bytes).seconds(link);
  };
  CHECK(seconds(Algorithm::kTree, 1e3) < seconds(Algorithm::kRing, 1e3));
  CHECK(seconds(Algorithm::kTree, 1e9) > seconds(Algorithm::kRing, 1e9));
}

TEST_CASE("a line through exact samples is found exactly", "[plan][chapter]") {
  const Link link{12e-6, 2.5e9};
  CHECK(link.half_latency_bytes() == Approx(30'000));
  std::vector<LinkSample> samples;
  for (const double bytes : {1.0, 100.0, 1e4, 1e6, 1e8}) samples.push_back({bytes, link.seconds(bytes)});
  const Link fitted = fit_link(samples);
  CHECK(fitted.alpha_seconds == Approx(link.alpha_seconds));
  CHECK(fitted.bytes_per_second == Approx(link.bytes_per_second));
}

TEST_CASE("no line near the fitted one has a smaller relative error", "[plan][chapter]") {
  const Link link{20e-6, 1e9};
  std::vector<LinkSample> samples;
  const double noise[] = {1.1, 0.85, 1.02, 0.97, 1.3, 0.9, 1.05};
  for (std::size_t i = 0; i < std::size(noise); ++i) {
    const double bytes = std::pow(10.0, static_cast<double>(i));
    samples.push_back({bytes, link.seconds(bytes) * noise[i]});
  }
  const Link fitted = fit_link(samples);
  const double least = squared_relative_error(samples, fitted);
  for (double a = 0.5; a < 2; a += 0.01) {
    for (double b = 0.5; b < 2; b += 0.01) {
      const Link other{fitted.alpha_seconds * a, fitted.bytes_per_second * b};
      REQUIRE(squared_relative_error(samples, other) >= least * (1 - 1e-12));
    }
  }
  CHECK(fitted.alpha_seconds == Approx(link.alpha_seconds).epsilon(0.3));
  CHECK(fitted.bytes_per_second == Approx(link.bytes_per_second).epsilon(0.3));
}

TEST_CASE("a fit has no negative latency and refuses what is no link", "[plan][chapter]") {
  // 1 s for 1 byte and 3 s for 2: the free line meets the axis below 0.
  const std::vector<LinkSample> steep = {{1, 1}, {2, 3}};
  const Link fitted = fit_link(steep);
  CHECK(fitted.alpha_seconds == 0);
  for (double b = 0.5; b < 2; b += 0.01) {
    const double least = squared_relative_error(steep, fitted);
    CHECK(squared_relative_error(steep, {0, fitted.bytes_per_second * b}) >= least * (1 - 1e-12));
  }
  CHECK_THROWS_AS(fit_link(std::vector<LinkSample>{{8, 1}, {8, 2}}), ContractError);
  CHECK_THROWS_AS(fit_link(std::vector<LinkSample>{}), ContractError);
  CHECK_THROWS_AS(fit_link(std::vector<LinkSample>{{1, 0}, {2, 1}}), ContractError);
  CHECK_THROWS_AS(fit_link(std::vector<LinkSample>{{1, 5}, {100, 1}}), FormatError);
}
