// A GPT that threads divide in three ways, beside the whole one.
#include "12_three_dimensions/gpt/grid_step.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "all_grids.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"
#include "data/sampler.hpp"
#include "nn/parameter_units.hpp"
#include "optim/adamw.hpp"
#include "run/training_state.hpp"
#include "run/whole_tensors.hpp"
#include "support/catch.hpp"
#include "support/collective_count.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_gpt.hpp"

using namespace lockstep;
using grid::GridShape;
using grid::RowLayout;
using test::TrainedGpt;

namespace {

struct GridCase {
  GridShape shape;
  int micro_batches = 2;  // of each place on the data axis
  RowLayout rows = RowLayout::kWhole;
  pipeline::ScheduleKind kind = pipeline::ScheduleKind::kOneForwardOneBackward;
  bool activation_checkpointing = false;
  bool over_tcp = false;

  // Every grid of 8 ranks can divide it.
  [[nodiscard]] nn::GptConfig config() const {
    return {.name = "test",
            .vocabulary_size = test::kVocabulary,
            .channels = 32,
            .head_count = 8,
            .layer_count = 8,
            .context_length = test::kPositions,
            .batch_size = test::kSamples,
            .dropout = 0.1,
            .activation_checkpointing = activation_checkpointing};
  }
  // Of one process: micro-batch k is number k / D of place k % D on the data axis.
  [[nodiscard]] int all_micro_batches() const { return std::min<int>(micro_batches * shape.data, test::kSamples); }
};

// The results of one rank. Its gradients and values are those of its shards.
struct TrainedRank {
  TrainedGpt results;
  std::map<std::string, Slice> owned;  // shards that this rank counts
};

TrainedRank train_rank(comm::JobContext job, const GridCase& test) {
  const grid::RankGrid places(test.shape, job.rank, job.world_size);
  const auto world = test.over_tcp ? ring::make_ring_process_group(std::move(job))
                                   : ring::make_shared_memory_process_group(std::move(job));
  const grid::GridGroups groups = grid::split(*world, places);
  const grid::GridLayers layers(*groups.tensor, test.rows);
  nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), *groups.pipeline), layers);
  grid::GridStep step(model, *world, groups, {.schedule = test.kind, .rows = test.rows});
  const int share = places.place().data, shares = test.shape.data;
  const auto own_part = [&](const std::vector<run::MicroBatch>& all) {
    std::vector<run::MicroBatch> own;
    for (std::size_t k = static_cast<std::size_t>(share); k < all.size(); k += static_cast<std::size_t>(shares)) {
      own.push_back(all[k]);
      own.back().weight *= shares;
    }
    return own;
  };
  const auto gradients_of_step = [&](const std::vector<run::MicroBatch>& all) {
    step.gather_values();  // those of the step before
    return step.run(own_part(all));
  };
  const auto clip = [&](double max_norm) { return step.clip_grad_norm(max_norm); };
  const auto evaluate = [&](const data::Batch& batch) {
    step.gather_values();
    double loss = step.loss(batch);
    if (!step.counts_samples()) loss = 0;
    world->all_reduce(comm::host_buffer(std::span(&loss, 1))).synchronize();
    return loss / shares;
  };
  TrainedRank rank;
  auto& shards = const_cast<nn::Module&>(step.shards());
  rank.results = test::train(test.all_micro_batches(), shards, gradients_of_step, clip, evaluate);
  for (const nn::NamedParameter& named : shards.named_parameters())
    if (named.is_owned) rank.owned.emplace(named.name, named.slice);
  return rank;
}

std::vector<TrainedRank> train_grid(const GridCase& test) {
  return test::run_ranks_for<TrainedRank>(test.shape.ranks(),
                                          [&](comm::JobContext job) { return train_rank(std::move(job), test); });
}

// One process, with the model and the micro-batches of a grid.
const TrainedGpt& expected_of(const GridCase& test) {
  static std::map<int, TrainedGpt> all;  // by micro-batches
  const int micro_batches = test.all_micro_batches();
  const auto found = all.find(micro_batches);
  if (found != all.end()) return found->second;
  GridCase plain = test;
  plain.activation_checkpointing = false;  // has the same bits
  return all.emplace(micro_batches, test::train_whole(plain.config(), micro_batches)).first->second;
}

// Elements of one process that lie in a slice.
std::vector<float> elements_of(const std::vector<float>& whole, const Slice& slice) {
  std::vector<float> elements;
  slice.for_each_run(
      [&](Range run) { elements.insert(elements.end(), whole.begin() + run.begin, whole.begin() + run.end); });
  return elements;
}

// Each element has one owner, who has the gradient of one process.
void check_first_gradients(const std::vector<TrainedRank>& ranks, const TrainedGpt& expected) {
  std::map<std::string, std::int64_t> counted;
  for (const TrainedRank& rank : ranks) {
    for (const auto& [name, slice] : rank.owned) {
      INFO(name);
      counted[name] += slice.count();
      if (slice.count() == 0) continue;
      const std::vector<float>& whole = expected.gradients.at(name);
      const auto [low, high] = std::ranges::minmax(whole);
      const double scale = std::max(std::abs(low), std::abs(high));
      const std::vector<float>& found = rank.results.gradients.at(name);
      const std::vector<float> wanted = elements_of(whole, slice);
      REQUIRE(found.size() == wanted.size());
      double largest = 0;
      for (std::size_t i = 0; i < found.size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i])));
      CHECK(largest / scale < 1e-5);
    }
  }
  CHECK(counted.size() == expected.gradients.size());
  for (const auto& [name, whole] : expected.gradients) {
    INFO(name);
    CHECK(counted[name] == std::ssize(whole));
  }
}

void check_steps(const TrainedGpt& found, const TrainedGpt& expected) {
  for (int step = 0; step < test::kSteps; ++step) {
    INFO("step " << step);
    CHECK(found.losses.at(step) == Approx(expected.losses.at(step)).epsilon(1e-6));
    CHECK(found.norms.at(step) == Approx(expected.norms.at(step)).epsilon(1e-5));
  }
  CHECK(found.evaluation == Approx(expected.evaluation).epsilon(1e-6));
}

void check_grid(const GridCase& test) {
  INFO(test::text_of(test.shape) << (test.rows == RowLayout::kDivided ? ", rows divided" : ""));
  const TrainedGpt& expected = expected_of(test);
  const std::vector<TrainedRank> ranks = train_grid(test);
  check_first_gradients(ranks, expected);
  check_steps(ranks.front().results, expected);
  for (const TrainedRank& rank : ranks) {
    CHECK(rank.results.losses == ranks.front().results.losses);
    CHECK(rank.results.norms == ranks.front().results.norms);
  }
}

}  // namespace

TEST_CASE("each grid of 1, 2, 4 and 8 ranks trains as one process", "[grid][multirank]") {
  const GridShape shape = GENERATE(from_range(test::all_grids()));
  check_grid({.shape = shape});
}

TEST_CASE("so it does with rows divided among the tensor ranks, over TCP, and in other orders", "[grid][multirank]") {
  check_grid(GENERATE(GridCase{.shape = {1, 2, 2}, .rows = RowLayout::kDivided},
                      GridCase{.shape = {2, 1, 2}, .rows = RowLayout::kDivided},
                      GridCase{.shape = {2, 2, 2}, .rows = RowLayout::kDivided},
                      GridCase{.shape = {2, 2, 1}, .micro_batches = 3, .over_tcp = true},
                      GridCase{.shape = {2, 2, 1}, .micro_batches = 4, .kind = pipeline::ScheduleKind::kGpipe},
                      GridCase{.shape = {2, 1, 2}, .activation_checkpointing = true}));
}

TEST_CASE("one rank has the bits of one process", "[grid]") {
  const GridCase test{.shape = {1, 1, 1}, .micro_batches = 3};
  const TrainedGpt found = train_grid(test).front().results;
  CHECK(found.losses == expected_of(test).losses);
  CHECK(found.norms == expected_of(test).norms);
  CHECK(found.evaluation == expected_of(test).evaluation);
}

namespace {

// Of one step with two micro-batches on 2 x 2 x 2 ranks.
struct Exchanged {
  int sums = 0, statistics = 0;     // collectives on the tensor axis
  int reductions = 0, gathers = 0;  // on the data axis
  std::size_t units = 0;            // of the part
  std::uint64_t bytes_in_pipeline = 0;
};

Exchanged exchanged_by(comm::JobContext job) {
  const GridCase test{.shape = {2, 2, 2}};
  const grid::RankGrid places(test.shape, job.rank, job.world_size);
  const auto world = ring::make_shared_memory_process_group(std::move(job));
  const grid::GridGroups groups = grid::split(*world, places);
  const grid::GridLayers layers(*groups.tensor, test.rows);
  nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), *groups.pipeline), layers);
  grid::GridStep step(model, *world, groups);
  const test::CollectiveCount tensor(*groups.tensor), data(*groups.data);
  (void)step.run(run::split_batch(test::batch_of_step(0), 2, 5, 0));
  step.gather_values();
  std::set<std::string> units;
  for (const nn::NamedParameter& named : model.named_parameters())
    units.insert(nn::unit_of({named.name, named.parameter.shape()}));
  return {.sums = tensor.of("all_reduce"),
          .statistics = tensor.of("all_gather"),
          .reductions = data.of("reduce_scatter"),
          .gathers = data.of("all_gather"),
          .units = units.size(),
          .bytes_in_pipeline = step.pipeline().bytes_sent()};
}

}  // namespace

TEST_CASE("on each axis a step sends what the lesson says", "[grid][multirank]") {
  const auto ranks = test::run_ranks_for<Exchanged>(8, exchanged_by);
  const std::uint64_t stream = 4 * test::kSamples * test::kPositions * 32;
  for (int rank = 0; rank < 8; ++rank) {
    const bool is_first = rank < 4;
    INFO("rank " << rank);
    CHECK(ranks[rank].sums == 2 * (4 * 4 + 1));  // four in each block; the embedding's, or the head's
    CHECK(ranks[rank].statistics == (is_first ? 0 : 2));
    CHECK(ranks[rank].reductions == static_cast<int>(ranks[rank].units));
    CHECK(ranks[rank].gathers == static_cast<int>(ranks[rank].units));
    const std::uint64_t rows = rank % 2 == 0 ? test::kVocabulary / 2 : test::kVocabulary - test::kVocabulary / 2;
    CHECK(ranks[rank].bytes_in_pipeline == stream + 4 * rows * 32);  // and values of the table, or their gradient
  }
}

namespace {

// The ranks of a grid, with some parameters frozen, save their model, or load one before.
void save_frozen(const GridShape& shape, const std::filesystem::path& to, const std::filesystem::path& from = {}) {
  const auto outcomes = test::run_ranks(shape.ranks(), [&](comm::JobContext job) {
    const GridCase test{.shape = shape};
    const grid::RankGrid places(shape, job.rank, job.world_size);
    const auto world = ring::make_shared_memory_process_group(std::move(job));
    const grid::GridGroups groups = grid::split(*world, places);
    const grid::GridLayers layers(*groups.tensor, test.rows);
    nn::GptPart model(test.config(), from.empty() ? 7 : 8, pipeline::blocks_of(test.config(), *groups.pipeline),
                      layers);
    for (const nn::NamedParameter& named : model.named_parameters()) {
      autograd::Variable parameter = named.parameter;
      if (named.name.starts_with("h.0.attn") || named.name.starts_with("wpe")) parameter.set_requires_grad(false);
    }
    grid::GridStep step(model, *world, groups);
    optim::AdamW optimizer(nn::weight_decay_groups(step.shards(), 0.1));
    data::SequentialSampler sampler(100);
    const run::TrainingParts parts{step.parts(), run::parts_of(optimizer)};
    const run::WholeTensors whole(parts, world.get());
    if (!from.empty())
      (void)run::load_training(from, whole.with_tensors_of_others(parts), optimizer, sampler, world.get());
    whole.save(parts, [&](const checkpoint::StreamedContents& contents) {
      run::TrainingSaver saver(to, {}, nlohmann::json::object(), 1);
      saver.save(1, contents, optimizer.step_counts(), sampler);
    });
    world->barrier().synchronize();
  });
  for (const test::RankOutcome& outcome : outcomes) CHECK(outcome.message() == "");
}

}  // namespace

TEST_CASE("a grid's checkpoint has the frozen parameters, and another grid continues with them",
          "[grid][resume][multirank]") {
  const test::TemporaryFolder folder;
  save_frozen({2, 2, 1}, folder / "first");
  save_frozen({1, 2, 2}, folder / "second", folder / "first");
  const auto model_in = [&](const char* name) {
    return read_file(folder / name / "step_00000001" / "model.safetensors");
  };
  CHECK_THAT(model_in("first"), ContainsSubstring("wpe.weight") && ContainsSubstring("h.0.attn.c_attn.weight"));
  const bool is_equal = model_in("first") == model_in("second");
  CHECK(is_equal);
}

namespace {

// The messages of the ranks of a grid, in which `other` ranks read the samples of a later step.
std::vector<std::string> messages(const GridShape& shape, const std::vector<int>& other) {
  std::vector<std::string> all;
  for (const test::RankOutcome& outcome : test::run_ranks(shape.ranks(), [&](comm::JobContext job) {
         const grid::RankGrid places(shape, job.rank, job.world_size);
         const auto world = ring::make_shared_memory_process_group(std::move(job));
         const bool is_other = std::ranges::find(other, world->rank()) != other.end();
         // Ranks with another place on the data axis have other samples, and may.
         grid::require_same_samples(test::batch_of_step(places.place().data + (is_other ? 7 : 0)), *world, places);
       }))
    all.push_back(outcome.message());
  return all;
}

}  // namespace

TEST_CASE("a rank with other samples than its model's ranks is named on all, with place and groups",
          "[grid][multirank]") {
  for (const std::string& message : messages({2, 2, 2}, {})) CHECK(message.empty());
  for (const std::string& message : messages({2, 2, 2}, {5})) {
    CHECK_THAT(message, ContainsSubstring("rank 5 (pipeline 1, data 0, tensor 1; in pipeline{1,5} and tensor{4,5}) has "
                                          "other samples"));
  }
  for (const std::string& message : messages({2, 2, 1}, {2})) {  // of two that differ, the second
    CHECK_THAT(message, ContainsSubstring("rank 2 (pipeline 1, data 0, tensor 0; in pipeline{0,2}) has"));
  }
  for (const std::string& message : messages({2, 2, 2}, {2, 5}))
    CHECK_THAT(message, ContainsSubstring("rank 2 (") && ContainsSubstring("), rank 5 (") && ContainsSubstring("have"));
}
