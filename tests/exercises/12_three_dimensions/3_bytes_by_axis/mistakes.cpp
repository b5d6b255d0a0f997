#include "12_three_dimensions/3_bytes_by_axis/bytes_by_axis.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"all_blocks", "every stage counts the blocks of the whole model", "A stage has L / P of them."},
    {"ends_everywhere", "every stage counts the embedding and the head", "Only the first one, and only the last one."},
    {"no_ends", "the embedding and the head are left out on the tensor axis",
     "The first stage has one all-reduce more, and so has the last."},
    {"no_head", "the last stage has no all-reduce more than its blocks",
     "The head needs whole rows of all ranks: its backward adds up their gradients."},
    {"no_loss", "the loss is left out", "An all-gather of 3 R T numbers in the last stage."},
    {"loss_of_one_rank", "the loss's all-gather is counted with the numbers of one rank",
     "All T ranks contribute 3 R each."},
    {"blocks_forward_only", "sums of blocks are counted in forward only", "Backward has as many."},
    {"half_an_all_reduce", "an all-reduce is counted like one half of it", "It sends twice (n - 1) / n."},
    {"one_micro_batch", "a step is counted as one micro-batch", "Activations travel in each of them."},
    {"gradients_each_micro_batch", "the data axis is counted in every micro-batch",
     "Gradients are added up first: once a step."},
    {"whole_matrices", "the data axis is counted with whole matrices", "A rank has 1 / T of each."},
    {"gradients_only", "the data axis is counted without the all-gather of values",
     "Each rank updates its part, and the others need it."},
    {"table_on_last_stage", "the last stage counts the table on the data axis, too", "It only borrows it."},
    {"no_table_in_data", "the table is left out on the data axis", "The first stage owns it."},
    {"activations_only", "the gradients that go back along the pipeline are left out",
     "All stages but the first send one."},
    {"ring_of_stages", "every stage sends in both directions",
     "The first has no stage before it, the last none after."},
    {"no_table_in_pipeline", "the table is left out on the pipeline axis",
     "Once a step it travels from the first stage to the last, and its gradient back."},
    {"table_each_micro_batch", "the table is sent in every micro-batch", "Its values change once a step."},
    {"table_whole", "the whole table is sent along the pipeline", "A rank has 1 / T of its rows, and sends these."},
    {"table_to_itself", "a model on one stage sends its table", "Only if P > 1."},
    {"activations_divided", "tensor ranks divide what they send along the pipeline",
     "Each has whole rows, and sends them."},
    {"whole_buffers", "a rank sends all elements of a collective", "It sends (n - 1) / n of them."},
    {"integer_quotient", "(n - 1) / n is a quotient of two integers, and 0",
     "Multiply first: n divides the elements of each collective."},
    {"elements", "elements are counted, not bytes", "A float32 has 4 bytes."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::bytes_by_axis {

using exercise::is_mistake;

namespace {

std::int64_t sent(std::int64_t elements, std::int64_t ranks) {
  if (is_mistake("whole_buffers")) return ranks > 1 ? elements : 0;
  if (is_mistake("integer_quotient")) return elements * ((ranks - 1) / ranks);
  return elements * (ranks - 1) / ranks;
}

std::int64_t passes(const GridRun& run) { return is_mistake("one_micro_batch") ? 1 : run.micro_batches; }

std::int64_t blocks(const GridRun& run) { return is_mistake("all_blocks") ? run.blocks : run.blocks / run.pipeline; }

std::int64_t table(const GridRun& run) { return run.vocabulary * run.channels / run.tensor; }

std::int64_t in_tensor(const GridRun& run, bool is_first, bool is_last) {
  const bool is_everywhere = is_mistake("ends_everywhere");
  std::int64_t sums = (is_mistake("blocks_forward_only") ? 2 : 4) * blocks(run);
  if (!is_mistake("no_ends")) sums += (is_first || is_everywhere ? 1 : 0) + (is_last || is_everywhere ? 1 : 0);
  if (is_mistake("no_head") && is_last) --sums;
  const std::int64_t of_one = is_mistake("loss_of_one_rank") ? 1 : run.tensor;
  const std::int64_t loss = is_last && !is_mistake("no_loss") ? 3 * run.rows * of_one : 0;
  const std::int64_t twice = is_mistake("half_an_all_reduce") ? 1 : 2;
  return passes(run) * sent(twice * sums * run.rows * run.channels + loss, run.tensor);
}

std::int64_t in_pipeline(const GridRun& run, bool is_first, bool is_last) {
  std::int64_t rows = run.rows * run.channels;
  if (is_mistake("activations_divided")) rows /= run.tensor;
  std::int64_t messages = (is_last ? 0 : 1) + (is_first || is_mistake("activations_only") ? 0 : 1);
  if (is_mistake("ring_of_stages") && run.pipeline > 1) messages = 2;
  std::int64_t of_table = is_first || is_last ? table(run) : 0;
  if (run.pipeline == 1 && !is_mistake("table_to_itself")) of_table = 0;
  if (is_mistake("table_whole")) of_table *= run.tensor;
  if (is_mistake("no_table_in_pipeline")) of_table = 0;
  return passes(run) * messages * rows + (is_mistake("table_each_micro_batch") ? passes(run) : 1) * of_table;
}

std::int64_t in_data(const GridRun& run, bool is_first, bool is_last) {
  std::int64_t matrices = 12 * run.channels * run.channels / run.tensor * blocks(run);
  const bool has_table = is_first || (is_last && is_mistake("table_on_last_stage"));
  if (has_table && !is_mistake("no_table_in_data")) matrices += table(run);
  if (is_mistake("whole_matrices")) matrices *= run.tensor;
  const std::int64_t times = is_mistake("gradients_each_micro_batch") ? passes(run) : 1;
  return times * sent((is_mistake("gradients_only") ? 1 : 2) * matrices, run.data);
}

}  // namespace

BytesByAxis bytes_sent(const GridRun& run, std::int64_t stage) {
  const bool is_first = stage == 0, is_last = stage == run.pipeline - 1;
  const std::int64_t bytes = is_mistake("elements") ? 1 : 4;
  return {.pipeline = bytes * in_pipeline(run, is_first, is_last),
          .data = bytes * in_data(run, is_first, is_last),
          .tensor = bytes * in_tensor(run, is_first, is_last)};
}

}  // namespace lockstep::bytes_by_axis
