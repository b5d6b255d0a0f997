#include <cmath>

#include "12_three_dimensions/4_one_norm/one_norm.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"local_norm", "each rank clips by the norm of its own stage and parts",
     "The shares of all ranks are one sum: reduce it over the world."},
    {"tensor_copies_on_each", "what tensor ranks copy counts on each of them", "Tensor rank 0 counts it."},
    {"data_copies_on_each", "what data ranks copy counts on each of them", "Data rank 0 counts it."},
    {"counts_everything", "every rank counts all that it has",
     "Of copies, one counts: that of tensor rank 0 and data rank 0."},
    {"once_by_name", "norms count once, and biases of row layers on every tensor rank",
     "along_tensor says what is copied, not the name."},
    {"either_place", "what both axes copy counts if one of the two places is 0", "Both have to be 0."},
    {"tensor_zero_only", "tensor ranks other than 0 count nothing", "They have parts that no other rank has."},
    {"data_zero_only", "data ranks other than 0 count nothing", "They have shards that no other rank has."},
    {"first_of_stage_only", "only the first rank of each stage counts anything", "Cut parts count on every rank."},
    {"world_zero_counts_copies", "copies count on rank 0 of the world only",
     "Each stage has copies of its own: its first rank counts them."},
    {"copies_left_out", "no rank counts copies", "One of the ranks that have them does."},
    {"borrowed_table", "the borrowed table counts, which is in the first stage's gradient already",
     "It is no parameter: leave it out."},
    {"averaged", "the shares are averaged over the ranks", "Each rank has other elements: the sum is the result."},
    {"norms_added", "each rank takes its root before the sum", "Add squares, and take one root at the end."},
    {"no_root", "the norm is returned without the root", "The norm is the root of the sum of squares."},
    {"float_squares", "squares are added up in float", "Turn each element into a double first."},
    {"float_reduction", "the sum is reduced as a float", "all_reduce() has doubles, too."},
    {"factor_above_one", "small gradients are scaled up", "Only if norm > max_norm."},
    {"own_factor", "the factor is made of this rank's own share", "All ranks use the norm of the whole gradient."},
    {"copies_not_scaled", "a rank scales only what it counts, so copies drift apart",
     "Each rank scales all its gradients, also those that another rank counts."},
    {"divides_by_squares", "the limit is divided by the sum of squares", "max_norm / norm, with the root."},
    {"skips_non_finite", "elements that are not finite are left out of the sum",
     "Then no rank learns that the step is broken: let them through."},
    {"scales_by_nothing", "a norm that is infinite or NaN makes a factor",
     "Leave gradients as they are if the norm is not finite."},
    {"leaves_before_the_sum", "a rank with an element that is not finite returns before the reduction",
     "Others wait for it: decide by the sum, which all ranks have."},
    {"nothing_to_count", "a rank with nothing to count does not take part in the reduction",
     "It contributes 0. A collective needs every rank."},
    {"part_by_part", "each part has a reduction of its own", "Add up this rank's parts, then reduce one number."},
    {"not_awaited", "the reduction is not waited for", "Call synchronize() before you use the sum."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::one_norm {

using exercise::is_mistake;

namespace {

bool counts(const Part& part, const Place& place) {
  if (part.is_borrowed) return is_mistake("borrowed_table");
  const bool is_norm = part.name.find("norm") != std::string::npos;
  bool tensor_copies = part.along_tensor == Spread::kCopied, data_copies = part.along_data == Spread::kCopied;
  const bool is_copied = tensor_copies || data_copies;
  if (is_mistake("counts_everything")) return true;
  if (is_mistake("copies_left_out")) return !is_copied;
  if (is_mistake("either_place") && tensor_copies && data_copies) return place.tensor == 0 || place.data == 0;
  if (is_mistake("world_zero_counts_copies") && is_copied && place.pipeline != 0) return false;
  if (is_mistake("tensor_copies_on_each")) tensor_copies = false;
  if (is_mistake("data_copies_on_each")) data_copies = false;
  if (is_mistake("once_by_name")) tensor_copies = is_norm;
  if (is_mistake("tensor_zero_only")) tensor_copies = true;
  if (is_mistake("data_zero_only")) data_copies = true;
  if (is_mistake("first_of_stage_only")) tensor_copies = data_copies = true;
  return (!tensor_copies || place.tensor == 0) && (!data_copies || place.data == 0);
}

double squares_of(std::span<const float> gradient) {
  double squares = 0;
  float in_float = 0;
  for (const float element : gradient) {
    if (is_mistake("skips_non_finite") && !std::isfinite(element)) continue;
    squares += static_cast<double>(element) * static_cast<double>(element);
    in_float += element * element;
  }
  return is_mistake("float_squares") ? static_cast<double>(in_float) : squares;
}

double reduced(double squares, ShardCollectives& world) {
  if (is_mistake("local_norm")) return squares;
  if (is_mistake("norms_added")) squares = std::sqrt(squares);
  if (is_mistake("float_reduction")) {
    auto in_float = static_cast<float>(squares);
    world.all_reduce(std::span(&in_float, 1)).synchronize();
    return static_cast<double>(in_float);
  }
  static double sum = 0;  // not awaited: written to later
  sum = squares;
  exercise::Work work = world.all_reduce(std::span(&sum, 1));
  if (!is_mistake("not_awaited")) work.synchronize();
  return is_mistake("averaged") ? sum / world.world_size() : sum;
}

double sum_over_ranks(std::span<const Part> parts, const Place& place, ShardCollectives& world) {
  if (!is_mistake("part_by_part")) return reduced(own_squares(parts, place), world);
  double squares = 0;
  for (const Part& part : parts) squares += reduced(own_squares(std::span(&part, 1), place), world);
  return squares;
}

}  // namespace

double own_squares(std::span<const Part> parts, const Place& place) {
  double squares = 0;
  for (const Part& part : parts)
    if (counts(part, place)) squares += squares_of(part.gradient);
  return squares;
}

double clip_gradient(std::span<const Part> parts, const Place& place, double max_norm, ShardCollectives& world) {
  const double own = own_squares(parts, place);
  if (is_mistake("leaves_before_the_sum") && !std::isfinite(own)) return own;
  if (is_mistake("nothing_to_count") && own == 0) return 0;
  const double squares = sum_over_ranks(parts, place, world);
  const bool is_norm = is_mistake("no_root") || is_mistake("norms_added");
  const double norm = is_norm ? squares : std::sqrt(squares);
  if (!std::isfinite(norm) && !is_mistake("scales_by_nothing")) return norm;
  if (norm <= max_norm && !is_mistake("factor_above_one")) return norm;
  const double below = is_mistake("own_factor") ? std::sqrt(own) : is_mistake("divides_by_squares") ? squares : norm;
  const auto factor = static_cast<float>(max_norm / below);
  for (const Part& part : parts) {
    if (is_mistake("copies_not_scaled") && !counts(part, place)) continue;
    for (float& element : part.gradient) element *= factor;
  }
  return norm;
}

}  // namespace lockstep::one_norm
