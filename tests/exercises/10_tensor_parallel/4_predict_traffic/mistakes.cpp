#include "10_tensor_parallel/4_predict_traffic/traffic.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"forward_only", "only the forward pass is counted", "Each of the functions communicates in one pass or in both."},
    {"one_half", "each block is counted as one pair of cut layers", "It has two: attention and the MLP."},
    {"one_end", "the embedding or the head is left out",
     "Each rank looks up its own tokens only, and computes the logits of its own only: both ends are cut."},
    {"no_ends", "the embedding and the head are left out", "The table of tokens is cut, too."},
    {"no_loss", "the loss is left out", "Three numbers of each row from each rank, once a micro-batch."},
    {"loss_of_one_rank", "the loss's all-gather is counted with the numbers of one rank",
     "Each of the ranks contributes 3 R: it is an all-gather of 3 R N elements."},
    {"gathers_logits", "all logits are gathered for the loss", "Three numbers of each row are enough: 10.3."},
    {"half_an_all_reduce", "an all-reduce is counted as one pass over the ring instead of two",
     "An all-reduce is a reduce-scatter and an all-gather."},
    {"sends_whole_buffers", "a rank sends all bytes of a collective, its own part's result included",
     "It sends (ranks - 1) / ranks of them."},
    {"integer_quotient", "(ranks - 1) / ranks is a quotient of two integers, and 0",
     "Multiply first: ranks divides the elements of each collective."},
    {"counts_received", "what a rank receives is counted too", "Count what it sends."},
    {"counts_elements", "elements are counted, not bytes", "A float32 has 4 bytes."},
    {"one_micro_batch", "a step is counted as one micro-batch", "Each has a forward and a backward pass of its own."},
    {"norms_left_out", "the gradients of norms are not summed", "With divided rows each rank has one term of them."},
    {"norms_each_micro_batch", "the gradients of norms are summed in each micro-batch",
     "They are added up first: once a step is enough."},
    {"norms_without_last", "the norm after the last block is left out", "There are 2 L + 1 norms."},
    {"norms_without_bias", "only the weights of norms are counted", "Each norm has a bias, too."},
    {"norms_with_whole_rows", "the gradients of norms are summed with whole rows, too",
     "There all ranks compute the same gradients: a sum would be N times too large."},
    {"nothing_gathered_again", "backward does not gather the halves' input once more",
     "The gathered rows are not kept: two more all-gathers for each block."},
    {"head_gathered_again", "backward gathers the head's input once more", "Its backward follows at once: it is kept."},
    {"recomputes_silently", "recomputed blocks send nothing",
     "Their forward pass is computed again, collectives included."},
    {"recomputes_embedding", "the embedding is recomputed as well", "It belongs to no block."},
    {"recompute_serves_backward", "backward uses the rows that the recomputed forward pass has gathered",
     "A half does not keep them, the second time either."},
    {"own_rows_only", "collectives of divided rows are counted with R / N rows", "In all they have R rows."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_mistake;

namespace {

std::int64_t passes(const TensorRun& run) { return is_mistake("one_micro_batch") ? 1 : run.micro_batches; }

std::int64_t norm_sums(const TensorRun& run) {
  if (is_mistake("norms_left_out")) return 0;
  if (run.layout == Rows::kWhole) return is_mistake("norms_with_whole_rows") ? 1 : 0;
  return is_mistake("norms_each_micro_batch") ? passes(run) : 1;
}

CollectiveCounts of_micro_batch(const TensorRun& run) {
  const std::int64_t halves = (is_mistake("one_half") ? 1 : 2) * run.blocks;
  const std::int64_t begins = halves + ((is_mistake("one_end") || is_mistake("no_ends")) ? 0 : 1),
                     ends = halves + (is_mistake("no_ends") ? 0 : 1);
  const std::int64_t backward = is_mistake("forward_only") ? 0 : 1;
  const bool recomputes = run.recomputes_blocks && !is_mistake("recomputes_silently") && backward == 1;
  const std::int64_t again = recomputes ? halves + (is_mistake("recomputes_embedding") ? 1 : 0) : 0;
  const std::int64_t loss = is_mistake("no_loss") ? 0 : 1;
  if (run.layout == Rows::kWhole) return {.all_reduces = ends + backward * begins + again, .all_gathers = loss};
  std::int64_t gathered_again = backward * halves + (is_mistake("head_gathered_again") ? 1 : 0);
  if (is_mistake("nothing_gathered_again") || (recomputes && is_mistake("recompute_serves_backward")))
    gathered_again = 0;
  return {.all_reduces = 0,
          .all_gathers = begins + backward * ends + gathered_again + (recomputes ? halves : 0) + loss,
          .reduce_scatters = ends + backward * begins + again};
}

}  // namespace

CollectiveCounts collectives(const TensorRun& run) {
  const CollectiveCounts each = of_micro_batch(run);
  return {.all_reduces = passes(run) * each.all_reduces + norm_sums(run),
          .all_gathers = passes(run) * each.all_gathers,
          .reduce_scatters = passes(run) * each.reduce_scatters};
}

std::int64_t bytes_sent(const TensorRun& run) {
  const CollectiveCounts each = of_micro_batch(run);
  const std::int64_t twice = is_mistake("half_an_all_reduce") ? 1 : 2, losses = is_mistake("no_loss") ? 0 : 1;
  std::int64_t rows = run.rows * run.channels;
  if (run.layout == Rows::kDivided && is_mistake("own_rows_only")) rows /= run.ranks;
  std::int64_t of_loss = 3 * run.rows * (is_mistake("loss_of_one_rank") ? 1 : run.ranks);
  if (is_mistake("gathers_logits")) of_loss = run.rows * run.vocabulary;
  const std::int64_t norms = 2 * run.blocks + (is_mistake("norms_without_last") ? 0 : 1);
  const std::int64_t of_norms = (is_mistake("norms_without_bias") ? 1 : 2) * norms * run.channels;
  const std::int64_t of_rows = twice * each.all_reduces + each.all_gathers - losses + each.reduce_scatters;
  const std::int64_t elements = passes(run) * (of_rows * rows + losses * of_loss) + twice * norm_sums(run) * of_norms;
  if (is_mistake("sends_whole_buffers")) return 4 * elements;
  if (is_mistake("integer_quotient")) return 4 * elements * ((run.ranks - 1) / run.ranks);
  const std::int64_t sent = elements / run.ranks * (run.ranks - 1);
  if (is_mistake("counts_elements")) return sent;
  return (is_mistake("counts_received") ? 8 : 4) * sent;
}

}  // namespace lockstep::tensor_parallel
