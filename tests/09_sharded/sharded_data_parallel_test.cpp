// ShardedDataParallel takes the steps of DistributedDataParallel, with less memory and as many bytes.
#include "09_sharded/sharded_data_parallel.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sharded_training.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

void check_as_distributed(const TrainingCase& test, int stage) {
  INFO("stage " << stage << ", " << test.world_size << " ranks, " << test.parts << " parts");
  const auto expected = train_on_ranks(test, kDistributed), found = train_on_ranks(test, stage);
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    CHECK(found[rank].losses == expected[rank].losses);
    const bool has_equal_values = found[rank].values == expected[rank].values;  // not printed: there are thousands
    CHECK(has_equal_values);
    for (std::size_t step = 0; step < expected[rank].norms.size(); ++step) {
      CHECK(expected[rank].norms[step] > kClip);
      CHECK(found[rank].norms[step] == static_cast<double>(static_cast<float>(expected[rank].norms[step])));
    }
  }
}

// If gradients are added in another order: losses to 1e-6 and norms to 1e-5, which notices a part counted twice.
void check_near_distributed(const TrainingCase& test, int stage) {
  INFO("stage " << stage << ", " << test.world_size << " ranks, " << test.parts << " parts");
  const auto expected = train_on_ranks(test, kDistributed), found = train_on_ranks(test, stage);
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    for (std::size_t step = 0; step < expected[rank].norms.size(); ++step) {
      CHECK(found[rank].losses[step] == Approx(expected[rank].losses[step]).epsilon(1e-6));
      CHECK(found[rank].norms[step] == Approx(expected[rank].norms[step]).epsilon(1e-5));
    }
    CHECK(found[rank].values.size() == expected[rank].values.size());
  }
}

std::int64_t parameter_count() { return nn::Gpt(small_gpt(), 1).parameter_count(); }

}  // namespace

TEST_CASE("sharded ranks take the steps of DistributedDataParallel bit for bit in shared memory",
          "[sharded][multirank]") {
  const int stage = GENERATE(1, 2, 3), world_size = GENERATE(1, 2, 3, 4);
  check_as_distributed({.world_size = world_size}, stage);
}

TEST_CASE("so they do with blocks that are computed again, and without gathering in advance", "[sharded][multirank]") {
  const int stage = GENERATE(1, 2, 3);
  check_as_distributed({.world_size = 2, .activation_checkpointing = true}, stage);
  if (stage == 3) check_as_distributed({.world_size = 3, .prefetch = false}, stage);
}

TEST_CASE("so does stage 1 in micro-batches, while stages 2 and 3 add them in another order", "[sharded][multirank]") {
  check_as_distributed({.world_size = GENERATE(2, 3), .parts = 2}, 1);
  const int stage = GENERATE(2, 3);
  check_near_distributed({.world_size = 2, .parts = 2}, stage);
  check_near_distributed({.world_size = 2, .parts = 3, .activation_checkpointing = true}, stage);
}

TEST_CASE("so do two ranks over TCP, where a + b is b + a", "[sharded][multirank]") {
  const int stage = GENERATE(1, 2, 3);
  check_as_distributed({.world_size = 2, .link = Link::kTcp}, stage);
  if (stage == 1) check_as_distributed({.world_size = 2, .link = Link::kTcp, .parts = 2}, stage);
}

TEST_CASE("so do ranks of which one has no data in a step", "[sharded][multirank]") {
  const int stage = GENERATE(1, 2, 3);
  check_as_distributed({.world_size = 3, .empty_rank = 1}, stage);
}

TEST_CASE("at most three units of stage 3 are whole, one of them on its way", "[sharded][multirank]") {
  for (const TrainedGpt& rank : train_on_ranks({.world_size = 2, .prefetch = false}, 3)) CHECK(rank.most_alive == 2);
  for (const TrainedGpt& rank : train_on_ranks({.world_size = 2, .parts = 2}, 3)) CHECK(rank.most_alive == 3);
  for (const TrainedGpt& rank : train_on_ranks({.world_size = 2, .activation_checkpointing = true}, 3))
    CHECK(rank.most_alive == 3);
}

TEST_CASE("each rank has moments of its own elements only, which are all elements together", "[sharded][multirank]") {
  for (const int world_size : {1, 2, 3, 4}) {
    const auto ranks = train_on_ranks({.world_size = world_size}, 1);
    std::int64_t all = 0, most = 0;
    for (const TrainedGpt& rank : ranks) {
      all += rank.moment_elements;
      most = std::max(most, rank.moment_elements);
    }
    CHECK(all == 2 * parameter_count());
    // Every unit is divided evenly but for gaps of less than a line after each parameter and 16 N elements at its end.
    CHECK(most <= 2 * (parameter_count() / world_size + 16 * 6 + 16 * 40));
  }
}

TEST_CASE("shards of matrices decay, shards of vectors do not", "[sharded][multirank]") {
  std::vector<std::vector<std::string>> wrong(3);
  for (const RankOutcome& outcome : run_ranks(3, [&](comm::JobContext job) {
         const auto rank = static_cast<std::size_t>(job.rank);
         const auto group = make_link(std::move(job), Link::kSharedMemory);
         nn::Gpt model(small_gpt(), 1);
         const sharded::ShardedDataParallel sharded(model, *group);
         const auto groups = nn::weight_decay_groups(sharded.shards(), 0.1);
         for (const nn::NamedParameter& named : model.named_parameters()) {
           const auto& decaying = groups[0].parameters;
           const bool decays = std::ranges::find(decaying, named.name, &nn::NamedParameter::name) != decaying.end();
           if (decays != (named.parameter.shape().rank() >= 2)) wrong[rank].push_back(named.name);
         }
       }))
    CHECK(outcome.message() == "");
  CHECK(wrong == std::vector<std::vector<std::string>>(3));
}

TEST_CASE("a step of stage 1 sends (N-1)/N of the gradients and (N-1)/N of the values over TCP",
          "[sharded][multirank]") {
  const int world_size = GENERATE(2, 3, 4);
  const auto size = static_cast<std::size_t>(world_size);
  std::vector<std::uint64_t> gradients(size), values(size), elements(size);
  std::vector<std::string> messages;
  for (const RankOutcome& outcome : run_ranks(world_size, [&](comm::JobContext job) {
         const auto rank = static_cast<std::size_t>(job.rank);
         const auto group = make_link(std::move(job), Link::kTcp);
         nn::Gpt model(small_gpt(), 1);
         sharded::ShardedDataParallel sharded(model, *group);
         for (const sharded::Unit& unit : sharded.units())
           elements[rank] += static_cast<std::uint64_t>(unit.layout.count());
         const auto sent = [&] { return group->traffic_sent().payload_bytes; };
         const data::Batch batch = batch_with({static_cast<std::int64_t>(rank)});
         const std::uint64_t begin = sent();
         {
           const auto quiet = sharded.no_sync();
           model.loss(batch.inputs, batch.targets).backward();
         }
         if (sent() != begin) throw Error("a micro-batch that is not the last has sent something");
         model.loss(batch.inputs, batch.targets).backward();
         gradients[rank] = sent() - begin;
         sharded.gather_values();
         values[rank] = sent() - begin - gradients[rank];
       }))
    messages.push_back(outcome.message());
  CHECK(messages == std::vector<std::string>(size));
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::uint64_t half = 4 * elements[rank] / size * (size - 1);
    CHECK(gradients[rank] == half);
    CHECK(values[rank] == half);
  }
}

namespace {

// The bytes that a unit sends in one collective, by name.
std::map<std::string, std::uint64_t> bytes_of_units(const sharded::ShardedDataParallel& model, int world_size) {
  std::map<std::string, std::uint64_t> bytes;
  for (const sharded::Unit& unit : model.units()) {
    const auto part = static_cast<std::uint64_t>(unit.layout.part_of(0).count());
    bytes[unit.name] = 4 * part * static_cast<std::uint64_t>(world_size - 1);
  }
  return bytes;
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& bytes) {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : bytes) sum += count;
  return sum;
}

}  // namespace

TEST_CASE("stages 2 and 3 send over TCP, byte for byte, what the table says", "[sharded][multirank]") {
  const int stage = GENERATE(2, 3), world_size = GENERATE(2, 3, 4), parts = GENERATE(1, 4);
  INFO("stage " << stage << ", " << world_size << " ranks, " << parts << " micro-batches");
  const auto size = static_cast<std::size_t>(world_size);
  std::vector<std::vector<std::uint64_t>> sent_in_step(size);
  std::vector<std::uint64_t> expected(size);
  std::vector<std::string> messages;
  for (const RankOutcome& outcome : run_ranks(world_size, [&](comm::JobContext job) {
         const auto rank = static_cast<std::size_t>(job.rank);
         const auto group = make_link(std::move(job), Link::kTcp);
         nn::Gpt model(small_gpt(), 1);
         sharded::ShardedDataParallel sharded(model, *group, {.stage = stage});
         auto bytes = bytes_of_units(sharded, world_size);
         const auto m = static_cast<std::uint64_t>(parts);
         const std::uint64_t all = sum_of(bytes), vectors = bytes.at("vectors");
         // Forward gathers all, and wte once more for the head; backward all blocks but the last, which is still
         // there, as is wte. Of the next micro-batch, wte and wpe come anew; block 0 has just been used in backward.
         const std::uint64_t forward = all - vectors + bytes.at("wte");
         const std::uint64_t backward = bytes.at("h.0") + bytes.at("h.1");
         if (stage == 2) expected[rank] = m * all + all;
         if (stage == 3) expected[rank] = m * (all + forward + backward) + vectors;
         for (int step = 0; step < 3; ++step) {
           const std::uint64_t begin = group->traffic_sent().payload_bytes;
           const std::vector<TrainingPart> micro_batches(m, TrainingPart{batch_with({job.rank}), {}, 1.0 / parts});
           for (const TrainingPart& part : sharded.accumulate(micro_batches))
             model.loss(part.batch.inputs, part.batch.targets).backward(part.weight);
           sharded.gather_values();
           sent_in_step[rank].push_back(group->traffic_sent().payload_bytes - begin);
         }
       }))
    messages.push_back(outcome.message());
  CHECK(messages == std::vector<std::string>(size));
  for (std::size_t rank = 0; rank < size; ++rank)
    CHECK(sent_in_step[rank] == std::vector<std::uint64_t>(3, expected[rank]));
}
