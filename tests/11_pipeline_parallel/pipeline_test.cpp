// A GPT whose blocks are divided among threads, beside the whole one.
#include "11_pipeline_parallel/pipeline.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "pipeline_ranks.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using pipeline::ScheduleKind;
using test::PipelineCase;
using test::TrainedGpt;

namespace {

// One process, with the same micro-batches.
const TrainedGpt& expected_of(const PipelineCase& test) {
  static std::map<std::tuple<int, bool, bool>, TrainedGpt> all;
  const std::tuple key{test.micro_batches, test.activation_checkpointing, test.bf16};
  const auto found = all.find(key);
  return found != all.end() ? found->second : all.emplace(key, test::train_whole(test)).first->second;
}

// Bit for bit, except the table, whose two gradients are added up in another order.
void check_first_gradients(const std::vector<TrainedGpt>& ranks, const TrainedGpt& expected) {
  std::size_t compared = 0;
  for (const TrainedGpt& rank : ranks) {
    for (const auto& [name, gradient] : rank.gradients) {
      INFO(name);
      ++compared;
      if (name == "wte.weight") {
        CHECK(test::difference(gradient, expected.gradients.at(name)) < 1e-6);
      } else {
        CHECK(test::difference(gradient, expected.gradients.at(name)) == 0);
      }
    }
  }
  CHECK(compared == expected.gradients.size());  // each parameter is on one rank
}

void check_steps(const TrainedGpt& rank, const TrainedGpt& expected) {
  CHECK(rank.losses.front() == expected.losses.front());
  for (int step = 0; step < test::kSteps; ++step) {
    INFO("step " << step);
    CHECK(rank.losses.at(step) == Approx(expected.losses.at(step)).epsilon(1e-6));
    CHECK(rank.norms.at(step) == Approx(expected.norms.at(step)).epsilon(1e-5));
  }
  CHECK(rank.evaluation == Approx(expected.evaluation).epsilon(1e-6));
}

std::size_t micro_batches_held(ScheduleKind kind, int micro_batches, int ranks, int rank) {
  if (kind == ScheduleKind::kNaive) return 1;
  if (kind == ScheduleKind::kGpipe) return static_cast<std::size_t>(micro_batches);
  return static_cast<std::size_t>(std::min(micro_batches, ranks - rank));
}

// Each step: activations to the next rank, their gradients to the previous one; the table there and back. Then two
// evaluations, with the table once more.
std::uint64_t bytes_of_rank(int ranks, int rank) {
  const bool is_first = rank == 0, is_last = rank == ranks - 1;
  const std::uint64_t stream = 4 * test::kSamples * test::kPositions * test::kChannels;
  const std::uint64_t table = 4 * test::kVocabulary * test::kChannels;
  const std::uint64_t steps = test::kSteps;
  std::uint64_t bytes = 0;
  if (!is_last) bytes += (steps + 2) * stream;
  if (!is_first) bytes += steps * stream;
  if (ranks > 1 && is_first) bytes += (steps + 1) * table;
  if (ranks > 1 && is_last) bytes += steps * table;
  return bytes;
}

}  // namespace

TEST_CASE("a pipeline has the gradients, losses and norms of one process", "[pipeline_parallel][multirank]") {
  const int ranks = GENERATE(1, 2, 3, 4);
  const ScheduleKind kind = GENERATE(ScheduleKind::kNaive, ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward);
  const int micro_batches = GENERATE(1, 3, 8);
  INFO(ranks << " ranks, " << name_of(kind) << ", " << micro_batches << " micro-batches");
  const PipelineCase test{.kind = kind, .micro_batches = micro_batches};
  const TrainedGpt& expected = expected_of(test);
  const std::vector<TrainedGpt> found = test::train_pipeline(ranks, test);
  check_first_gradients(found, expected);
  for (int rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank);
    check_steps(found[rank], expected);
    CHECK(found[rank].held ==
          std::vector<std::size_t>(test::kSteps, micro_batches_held(kind, micro_batches, ranks, rank)));
    CHECK(found[rank].bytes_sent == bytes_of_rank(ranks, rank));
  }
}

TEST_CASE("at one rank a pipeline has the bits of one process", "[pipeline_parallel]") {
  const PipelineCase test{.micro_batches = GENERATE(1, 3)};
  const TrainedGpt& expected = expected_of(test);
  const TrainedGpt found = test::train_pipeline(1, test).front();
  CHECK(found.losses == expected.losses);
  CHECK(found.norms == expected.norms);
  CHECK(found.values == expected.values);
  CHECK(found.evaluation == expected.evaluation);
}

TEST_CASE("so it does in bfloat16, with activation checkpointing, over TCP, and with unequal stages",
          "[pipeline_parallel][multirank]") {
  const PipelineCase test =
      GENERATE(PipelineCase{.micro_batches = 4, .activation_checkpointing = true},
               PipelineCase{.micro_batches = 4, .bf16 = true}, PipelineCase{.micro_batches = 4, .over_tcp = true},
               PipelineCase{.micro_batches = 4, .last_stage_blocks = 1},
               PipelineCase{.micro_batches = 4, .last_stage_blocks = 3});
  const TrainedGpt& expected = expected_of(test);
  const std::vector<TrainedGpt> found = test::train_pipeline(3, test);
  check_first_gradients(found, expected);
  if (!test.bf16) check_steps(found.front(), expected);  // with 8 bits, a last bit of wte moves a loss by more
}

namespace {

// Copies the gradient of a parameter whenever it is said to be complete.
class GradientCopy : public autograd::GradientObserver {
 public:
  std::vector<float> elements;

  void on_gradient_ready(autograd::Variable& parameter) override {
    const auto gradient = parameter.gradient().span<float>();
    elements.assign(gradient.begin(), gradient.end());
  }
  void on_backward_end() override {}
};

}  // namespace

TEST_CASE("the table's gradient is complete when the first stage's last backward pass reaches it",
          "[pipeline_parallel][multirank]") {
  const PipelineCase test{.micro_batches = 3};
  const auto copies = test::run_ranks_for<std::vector<float>>(2, [&](comm::JobContext job) {
    const auto group = ring::make_shared_memory_process_group(std::move(job));
    const pipeline::BorrowingLayers layers;
    const nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), *group), layers);
    pipeline::Pipeline stages(model, *group, test.kind);
    GradientCopy copy;
    model.table().weight().add_observer(&copy);
    const data::Batch batch = test::batch_of_step(0);
    (void)stages.run(run::split_batch(batch, test.micro_batches, 5, 0));
    model.table().weight().remove_observer(&copy);
    return copy.elements;
  });
  CHECK(test::difference(copies[0], expected_of(test).gradients.at("wte.weight")) < 1e-6);
}

TEST_CASE("a frozen table gets no gradient from the last stage either", "[pipeline_parallel][multirank]") {
  const PipelineCase test{.micro_batches = 3};
  const auto has_gradients = test::run_ranks_for<std::pair<bool, bool>>(2, [&](comm::JobContext job) {
    const auto group = ring::make_shared_memory_process_group(std::move(job));
    const pipeline::BorrowingLayers layers;
    const nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), *group), layers);
    if (model.is_first()) model.table().weight().set_requires_grad(false);
    pipeline::Pipeline stages(model, *group, test.kind);
    (void)stages.run(run::split_batch(test::batch_of_step(0), test.micro_batches, 5, 0));
    const bool others = std::ranges::any_of(model.named_parameters(), [](const nn::NamedParameter& named) {
      return named.name != "wte.weight" && named.parameter.has_gradient();
    });
    return std::pair(model.table().weight().has_gradient(), others);
  });
  CHECK(has_gradients[0] == std::pair(false, true));
}

TEST_CASE("a first stage that is frozen as a whole gets no gradients, and the others theirs",
          "[pipeline_parallel][multirank]") {
  const PipelineCase test{.micro_batches = 3};
  const auto counts = test::run_ranks_for<std::ptrdiff_t>(2, [&](comm::JobContext job) {
    const auto group = ring::make_shared_memory_process_group(std::move(job));
    const pipeline::BorrowingLayers layers;
    nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), *group), layers);
    if (model.is_first()) model.set_requires_grad(false);
    pipeline::Pipeline stages(model, *group, test.kind);
    (void)stages.run(run::split_batch(test::batch_of_step(0), test.micro_batches, 5, 0));
    return std::ranges::count_if(model.parameters(), &autograd::Variable::has_gradient);
  });
  CHECK(counts[0] == 0);
  CHECK(counts[1] > 0);
}

TEST_CASE("blocks are divided nearly equally, or the last stage has as many as it is told",
          "[pipeline_parallel][multirank]") {
  using Blocks = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto blocks = [](std::int64_t last_stage_blocks) -> Blocks {
    return test::run_ranks_for<Blocks::value_type>(3, [&](comm::JobContext job) {
      const auto group = ring::make_shared_memory_process_group(std::move(job));
      const Range range = pipeline::blocks_of(PipelineCase{}.config(), *group, last_stage_blocks);
      return std::pair(range.begin, range.end);
    });
  };
  CHECK(blocks(0) == Blocks{{0, 1}, {1, 3}, {3, 5}});
  CHECK(blocks(1) == Blocks{{0, 2}, {2, 4}, {4, 5}});
  CHECK(blocks(3) == Blocks{{0, 1}, {1, 2}, {2, 5}});
}

TEST_CASE("a pipeline stays where it is, because its stage refers to its links", "[pipeline_parallel]") {
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<pipeline::Pipeline>);
}

TEST_CASE("parts that are not one whole model are refused on all ranks", "[pipeline_parallel][multirank]") {
  const nn::GptConfig config = PipelineCase{}.config();
  const auto [first, second, problem] =
      GENERATE(std::tuple{Range{0, 5}, Range{0, 5},
                          "rank 0 has blocks 0 to 5 of the model, and the next part begins with block 0"},
               std::tuple{Range{0, 2}, Range{3, 5},
                          "rank 0 has blocks 0 to 2 of the model, and the next part begins with block 3"},
               std::tuple{Range{0, 2}, Range{2, 4},
                          "rank 1 has blocks 2 to 4 of the model, and the next part begins with block 5"},
               std::tuple{Range{1, 3}, Range{3, 5},
                          "rank 0 has blocks 1 to 3 of the model, and the first part must begin with block 0"});
  for (const test::RankOutcome& outcome : test::run_ranks(2, [&](comm::JobContext job) {
         const auto group = ring::make_shared_memory_process_group(std::move(job));
         const nn::GptPart part(config, 7, group->rank() == 0 ? first : second, pipeline::BorrowingLayers());
         const pipeline::Pipeline stages(part, *group, ScheduleKind::kGpipe);
       }))
    CHECK_THAT(outcome.message(), ContainsSubstring(problem));
}
