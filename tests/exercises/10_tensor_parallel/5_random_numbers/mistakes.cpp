#include <algorithm>
#include <vector>

#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"one_seed_for_all", "all ranks have the same seed for everything",
     "Which ranks apply their numbers to different samples, and which have different parts?"},
    {"every_rank_its_own", "every rank has seeds of its own for everything",
     "Copies of one thing must get the same numbers: equal models, the whole stream, the list of samples."},
    {"stream_by_tensor_rank", "each tensor rank drops other elements of the stream that all of them have",
     "Their streams are copies of one: mix in no tensor rank."},
    {"stream_on_all_data_ranks", "data ranks drop the same elements of the stream of different samples",
     "Mix in the data rank."},
    {"rows_shared", "tensor ranks drop the same places of the different rows that they have",
     "With sequence parallelism each tensor rank has rows of its own: mix in the tensor rank."},
    {"heads_shared", "tensor ranks drop the same places of their different heads", "Mix in the tensor rank."},
    {"data_ranks_shared", "dropouts do not depend on the data rank", "Data ranks have different samples."},
    {"weights_by_data_rank", "models of data ranks begin with different parts of matrices",
     "Their gradients are averaged, so they must begin with equal weights."},
    {"whole_by_tensor_rank", "a parameter that all tensor ranks have whole begins with different values on them",
     "It is one parameter: mix in no rank."},
    {"parts_are_copies", "the parts of a matrix are copies of each other", "Each tensor rank has its own part of it."},
    {"order_by_data_rank", "each data rank shuffles the samples in an order of its own",
     "All take their share of one order, or samples are read twice."},
    {"order_by_tensor_rank", "ranks of a tensor group read their samples in different orders",
     "They compute the same samples together."},
    {"ranks_added", "data rank and tensor rank are added up, and some sums are equal",
     "Mix them in one after the other: mix64(mix64(seed, data_rank), tensor_rank)."},
    {"numbers_added", "layer, step and micro-batch are added to the seed, and some sums are equal",
     "Mix them in one after another."},
    {"numbers_as_digits", "layer, step and the others are digits of one number, and a step of 100 is one layer more",
     "Leave no limit to any of them: mix them in one after another."},
    {"purpose_left_out", "two purposes share a seed", "Mix in the purpose."},
    {"step_left_out", "every step draws the same numbers", "Mix in the step."},
    {"layer_left_out", "every layer draws the same numbers", "Mix in the layer."},
    {"micro_batch_left_out", "every micro-batch of a step draws the same numbers", "Mix in the micro-batch."},
    {"counts_calls", "a seed depends on how often seed_for() was called, so a recomputed pass gets another one",
     "Take it from the draw and the place alone."},
    {"not_scaled", "what is kept is not divided by (1 - probability)", "The sum must stay the same on average."},
    {"scaled_the_other_way", "what is kept is multiplied by (1 - probability)", "Divide by it."},
    {"keeps_the_dropped", "elements are kept with the given probability and dropped otherwise",
     "The probability is that of dropping; look at a probability of 3/4."},
    {"mask_goes_on", "masks come from a generator that goes on from call to call",
     "Backward and recomputation need the same mask: compute it from what the element is."},
    {"mask_without_step", "a mask does not depend on the step", "Mix in the step."},
    {"mask_without_layer", "a mask does not depend on the layer", "Mix in the layer."},
    {"mask_by_sums", "seed, step and layer are added up for a mask, and some sums are equal",
     "Layer 1 in step 0 is not layer 0 in step 1: mix them in one after another."},
    {"mask_by_digits", "the mask of a layer is that of the layer before 1000 steps later",
     "layer * 1000 + step sets a limit to the steps: mix them in one after another."},
    {"sample_and_place_added", "the sample's number and the element's place are added up, and some sums are equal",
     "Element 1 of sample 4 is not element 0 of sample 5: mix them in one after the other."},
    {"places_have_a_limit", "element 65536 of a sample has the mask of element 0 of the next one",
     "sample * 65536 + place sets a limit to the places: mix them in one after the other."},
    {"same_for_each_head", "all heads of a sample have the same mask", "The place is that in [H, T, T]."},
    {"sample_in_batch", "a mask depends on the sample's place in the batch and not on its number",
     "part.samples has the numbers."},
    {"rank_in_mask", "each rank drops other elements of the stream that all of them have",
     "Nothing depends on the rank if a rank has all elements."},
    {"rows_from_0", "each rank takes its rows for the first rows of the batch", "Rank r begins with row r B T / N."},
    {"rows_of_each_sample", "each rank is taken to have some rows of every sample",
     "The rows of the batch are divided, not those of each sample: a rank may have whole samples."},
    {"heads_from_0", "each rank takes its heads for the first heads", "Rank r begins with head r H / N."},
    {"heads_as_one_run", "a rank's heads are taken for one run of the batch, as rows are",
     "A rank has some heads of each sample."},
    {"every_nth_head", "each rank is taken to have every Nth head", "A rank's heads are neighbours."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {
namespace {

using exercise::is_mistake;

bool is_dropout(Purpose purpose) { return purpose >= Purpose::kStreamDropout; }

bool differs_by_data_rank(Purpose purpose) {
  if (is_mistake("one_seed_for_all") || is_mistake("data_ranks_shared")) return false;
  if (is_mistake("every_rank_its_own")) return true;
  if (is_mistake("stream_on_all_data_ranks") && purpose == Purpose::kStreamDropout) return false;
  if (is_mistake("weights_by_data_rank") && purpose == Purpose::kCutWeights) return true;
  if (is_mistake("order_by_data_rank") && purpose == Purpose::kOrder) return true;
  return is_dropout(purpose);
}

bool differs_by_tensor_rank(Purpose purpose) {
  if (is_mistake("one_seed_for_all")) return false;
  if (is_mistake("every_rank_its_own")) return true;
  if (is_mistake("stream_by_tensor_rank") && purpose == Purpose::kStreamDropout) return true;
  if (is_mistake("rows_shared") && purpose == Purpose::kRowsDropout) return false;
  if (is_mistake("heads_shared") && purpose == Purpose::kAttentionDropout) return false;
  if (is_mistake("whole_by_tensor_rank") && purpose == Purpose::kWholeWeights) return true;
  if (is_mistake("parts_are_copies") && purpose == Purpose::kCutWeights) return false;
  if (is_mistake("order_by_tensor_rank") && purpose == Purpose::kOrder) return true;
  return purpose == Purpose::kCutWeights || purpose == Purpose::kRowsDropout || purpose == Purpose::kAttentionDropout;
}

std::uint64_t mixed(std::uint64_t key, std::int64_t number) { return mix64(key, static_cast<std::uint64_t>(number)); }

struct Element {
  std::int64_t sample, place;
};

Element element_of_heads(const Part& part, std::int64_t index, std::int64_t count) {
  const std::int64_t square = part.positions * part.positions, heads = part.width / part.ranks;
  const std::int64_t head = index / square % heads, sample = index / square / heads, within = index % square;
  if (is_mistake("heads_as_one_run")) {
    const std::int64_t in_batch = part.rank * count + index, per_sample = part.width * square;
    return {in_batch / per_sample, in_batch % per_sample};
  }
  std::int64_t in_sample = part.rank * heads + head;
  if (is_mistake("heads_from_0")) in_sample = head;
  if (is_mistake("every_nth_head")) in_sample = head * part.ranks + part.rank;
  if (is_mistake("same_for_each_head")) in_sample = 0;
  return {sample, in_sample * square + within};
}

Element element_of(const Part& part, std::int64_t index, std::int64_t count) {
  if (part.cut == Cut::kHeads) return element_of_heads(part, index, count);
  const std::int64_t per_sample = part.positions * part.width;
  if (part.cut == Cut::kRows && is_mistake("rows_of_each_sample")) {
    const std::int64_t own = count / std::ssize(part.samples);
    return {index / own, part.rank * own + index % own};
  }
  const std::int64_t first = part.cut == Cut::kRows && !is_mistake("rows_from_0") ? part.rank * count : 0;
  return {(first + index) / per_sample, (first + index) % per_sample};
}

}  // namespace

std::uint64_t seed_for(const Draw& draw, const Place& place) {
  static std::int64_t calls = 0;
  std::uint64_t seed =
      is_mistake("purpose_left_out") ? draw.seed : mixed(draw.seed, static_cast<std::int64_t>(draw.purpose));
  if (is_mistake("numbers_as_digits")) {
    seed = mixed(draw.seed, ((static_cast<std::int64_t>(draw.purpose) * 100 + draw.layer) * 100 + draw.step) * 100 +
                                draw.micro_batch);
  } else if (is_mistake("numbers_added")) {
    seed += static_cast<std::uint64_t>(draw.layer + draw.step + draw.micro_batch);
  } else {
    seed = mixed(seed, is_mistake("layer_left_out") ? 0 : draw.layer);
    seed = mixed(seed, is_mistake("step_left_out") ? 0 : draw.step);
    seed = mixed(seed, is_mistake("micro_batch_left_out") ? 0 : draw.micro_batch);
  }
  if (is_mistake("counts_calls")) seed = mixed(seed, ++calls);
  const std::int64_t data_rank = differs_by_data_rank(draw.purpose) ? place.data_rank : 0,
                     tensor_rank = differs_by_tensor_rank(draw.purpose) ? place.tensor_rank : 0;
  if (is_mistake("ranks_added")) return mixed(seed, data_rank + tensor_rank);
  return mixed(mixed(seed, data_rank), tensor_rank);
}

void drop_part(std::span<float> elements, const Dropout& dropout, const Part& part) {
  static std::int64_t calls = 0;
  std::uint64_t key = mixed(dropout.seed, is_mistake("mask_without_step") ? 0 : dropout.step);
  key = mixed(key, is_mistake("mask_without_layer") ? 0 : dropout.layer);
  if (is_mistake("mask_by_sums")) key = dropout.seed + static_cast<std::uint64_t>(dropout.step + dropout.layer);
  if (is_mistake("mask_by_digits")) key = mixed(dropout.seed, dropout.layer * 1000 + dropout.step);
  if (is_mistake("rank_in_mask") && part.cut == Cut::kNothing) key = mixed(key, part.rank);
  if (is_mistake("mask_goes_on")) key = mixed(key, ++calls);
  const std::int64_t count = std::ssize(elements);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [sample, place] = element_of(part, i, count);
    const std::int64_t number = is_mistake("sample_in_batch") ? sample : part.samples[static_cast<std::size_t>(sample)];
    std::uint64_t random = mixed(mixed(key, number), place);
    if (is_mistake("sample_and_place_added")) random = mixed(key, number + place);
    if (is_mistake("places_have_a_limit")) random = mixed(key, number * 65536 + place);
    const float uniform = uniform_float(static_cast<std::uint32_t>(random));
    const float probability = is_mistake("keeps_the_dropped") ? 1 - dropout.probability : dropout.probability;
    float& element = elements[static_cast<std::size_t>(i)];
    if (uniform < probability) {
      element = 0;
    } else if (is_mistake("scaled_the_other_way")) {
      element *= 1 - dropout.probability;
    } else if (!is_mistake("not_scaled")) {
      element /= 1 - dropout.probability;
    }
  }
}

}  // namespace lockstep::tensor_parallel
