// The explanations of judges for wrong answers, besides the mistake of the bank that they resemble: what all wrong
// numbers have in common, and what was not waited for. The mistakes of the banks are the answers.
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep::exercise {
namespace {

struct Explained {
  const char* exercise;
  const char* mistake;
  const char* words;  // of the first failure's summary
};

constexpr Explained kExplained[] = {
    // Buffers that held something.
    {"05.3", "adds_to_input_gradient", "your function has added to what was in the buffer before the call (1000)"},
    {"05.3", "overwrites_parameters", "is gone: your function was to add to it"},
    {"05.4", "adds_to_output", "your function has added to what was in the buffer before the call (1000)"},
    {"05.4", "adds_to_gradients", "your function has added to what was in the buffer before the call (1000)"},
    {"06.3", "only_own_flags", "your function has not written here"},
    // Factors.
    {"05.1", "takes_whole_gradient", "not multiplied by 1 - beta1, nor its square by 1 - beta2"},
    {"05.1", "decay_without_rate", "the parameter shrinks by weight_decay alone, without the learning rate"},
    {"05.1", "divides_by_square", "not by its root"},
    {"05.3", "no_deviation", "the reciprocal deviation is missing in front of the bracket"},
    {"05.3", "sums_for_means", "not divided by the number of channels"},
    {"05.4", "divides_by_d", "divided by D instead of its root"},
    {"06.3", "sums", "it is not divided by the number of ranks"},
    {"06.4", "divides_by_buckets", "divided by the number of buckets, not of ranks"},
    {"06.6", "targets_as_weights", "not divided by their number"},
    {"06.8", "sums", "it is not divided by the number of ranks"},
    {"08.1", "divides_twice", "divided by gradient_accumulation_steps twice"},
    {"08.5", "never_clips", "it has not been clipped"},
    // Formulas and rules.
    {"05.2", "relu_at_zero", "relu passes the gradient on for x = 0 too"},
    {"05.2", "tanh_not_squared", "without the square"},
    {"05.2", "product_without_gradient", "not multiplied by the gradient that arrives"},
    {"05.4", "masks_with_zero", "later positions get the score 0"},
    {"05.4", "backward_without_scale", "1 / sqrt(D) is missing in the gradients of query and key"},
    {"06.1", "pads_with_zeros", "the padding is sample 0"},
    {"06.1", "cuts_before_shuffling", "the length is changed before the shuffling"},
    {"06.2", "epoch_too_high", "set_epoch() is called with epoch + 1"},
    {"06.2", "whole_batch_everywhere", "every rank has used sample"},
    {"06.7", "takes_noise_out", "the noise has been taken out"},
    {"06.7", "limit_for_sum", "the sum of the ranks' losses is compared with the limit"},
    {"08.1", "weight_so_far", "the weight is 1 / (micro-batches so far)"},
    {"08.2", "remainder_of_zero", "a remainder of 0 means that the last batch is full"},
    {"08.3", "order_of_old_epoch", "of epoch 0's order, and epoch 1's belongs here"},
    {"08.3", "skips_samples", "3 samples have been skipped, not 3 batches"},
    {"09.1", "cuts_each_parameter", "each parameter is cut into equal parts by itself, not the unit"},
    {"09.1", "last_rank_takes_rest", "there is no padding, and the last rank owns what is left over"},
    {"09.2", "local_norm", "each rank clips by the norm of its own part"},
    {"09.2", "norm_of_whole_buckets", "which hold means in this rank's part only"},
    {"09.2", "never_gathers", "no rank gets the values that others have updated"},
    {"09.3", "stage_2_once", "no rank keeps whole gradients until then"},
    {"09.3", "keeps_over_update", "units stay whole over the update"},
    {"09.3", "largest_anywhere", "wherever they are: these are neighbours"},
    {"09.5", "counts_from_zero", "the first average comes after the first step"},
    {"09.5", "resets_moments", "moments are set to zero when values are averaged"},
    {"10.1", "bias_on_every_rank", "added by each rank before the sum, and so as often as there are ranks"},
    {"10.1", "reads_own_samples", "the ranks read different samples"},
    {"10.1", "one_mask_for_all_shards", "all ranks drop hidden channels with the mask of rank 0's"},
    {"10.1", "mask_rows_too_short", "the mask's rows are as long as this rank's share"},
    {"10.1", "output_seed_plus_rank", "each rank drops other elements of the same output"},
    {"10.1", "every_nth_channel", "column 1 should be column 1 of the whole matrix; it is column 2"},
    {"10.2", "copy_is_data", "copy_to_ranks() returns data, which no gradient passes"},
    {"10.2", "sum_sums_again", "sum_over_ranks() sums in backward too"},
    {"10.2", "overwrites_gradient", "has overwritten a gradient that somebody else holds too"},
    {"10.2", "norms_left_alone", "each rank has one term, from its own rows"},
    {"10.2", "norms_averaged", "this is the sum, divided by 2"},
    {"10.3", "own_softmax", "each rank takes the softmax of its own columns"},
    {"10.3", "foreign_target_in_gradient", "1 is subtracted from the gradient of column 0"},
    {"10.3", "maximum_of_rank_zero", "exp() overflows, or it is the logarithm of a probability that is 0"},
    {"10.3", "sum_of_every_rank", "the loss grows by log(ranks)"},
    {"10.4", "one_end", "one of the two ends is left out"},
    {"10.4", "nothing_gathered_again", "backward does not gather the halves' rows once more"},
    {"10.5", "rows_shared", "for the dropout of divided rows, tensor ranks 0 and 1 get the same seed"},
    {"10.5", "numbers_added", "although they differ in the step and the micro-batch"},
    {"10.5", "heads_from_0", "this is the mask of rank 0's part"},
    {"11.2", "always_the_formula", "that is (p-1)/m, which holds for GPipe and 1F1B on equal ranks"},
    {"11.3", "throws_out_of_range", "the loop throws, but no ContractError: \"map::at\""},
    {"11.4", "outputs_kept", "got 2002002, which is 2 x input, 2 x saved, 2 x output"},
    {"11.4", "as_forward_needs", "the forward pass is counted: a backward pass needs more"},
    {"11.4", "no_weight_gradients", "the weights' gradients are left out"},
    {"11.4", "rounds_up", "the number is rounded up"},
    {"11.4", "output_for_each", "an output is held with each micro-batch: it has been sent"},
    {"11.5", "weights_in_b", "B0 does 1 product for weights: it is as long as a whole backward pass"},
    {"11.5", "held_after_w", "after W0 20 elements are held; 0 are enough"},
    {"11.5", "when_idle", "the step takes 23 units; 21 are possible"},
    {"12.3", "no_head", "the head's all-reduce in backward is left out"},
    {"12.3", "table_whole", "the table is sent whole"},
    {"12.4", "tensor_copies_on_each", "what tensor ranks copy counts on each of them"},
    {"12.4", "once_by_name", "norms count once and other copies, such as biases, on every tensor rank"},
    {"12.4", "borrowed_table", "the borrowed table counts, which is in the first stage's gradient already"},
    {"12.4", "norms_added", "the ranks' norms are added up"},
    {"12.4", "float_reduction", "right to the digits of float32"},
    {"12.4", "copies_not_scaled", "copies are scaled, too, counted or not"},
    // Operations that were not waited for, or go on from step to step.
    {"06.2", "broadcast_not_awaited", "has issued a broadcast of 5 values and never waited for it"},
    {"06.2", "gradient_not_awaited", "and never waited for it"},
    {"06.3", "not_awaited", "has issued an all_reduce of"},
    {"06.5", "waits_for_the_last", "and never waited for it"},
    {"06.5", "launches_again", "is launched twice in one step"},
};

std::string first_summary(const Explained& explained) {
  const std::string programs = LOCKSTEP_EXERCISE_PROGRAMS, id = explained.exercise;
  std::string target = id;
  target[2] = '_';
  const test::Finished finished =
      test::run_program({programs + "/judge_" + id.substr(0, 2), id, "--subject",
                         concat(programs, "/exercise_", target, "_bank"), "--mistake", explained.mistake});
  if (finished.exit_code != 0) return "the judge failed: " + finished.err;
  const nlohmann::json verdict = parse_json(finished.out);
  for (const nlohmann::json& check : verdict.at("checks"))
    if (check.at("verdict") != "passed") return check.at("summary");
  return "all checks passed";
}

}  // namespace

TEST_CASE("judges say what the wrong numbers of an answer have in common", "[exercises]") {
  for (const Explained& explained : kExplained) {
    INFO(explained.exercise << " " << explained.mistake);
    CHECK_THAT(first_summary(explained), Catch::Matchers::ContainsSubstring(explained.words));
  }
}

}  // namespace lockstep::exercise
