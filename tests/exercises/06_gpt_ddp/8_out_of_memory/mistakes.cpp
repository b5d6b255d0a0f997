#include <algorithm>
#include <vector>

#include "06_gpt_ddp/8_out_of_memory/out_of_memory.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"fails_alone", "a rank that runs out of memory throws at once, and the others wait for it",
     "Catch the exception, and tell the others first."},
    {"retries_alone", "a rank that runs out of memory tries smaller sizes by itself, until one fits",
     "All ranks are to use the same size: exchange the result of every attempt."},
    {"keeps_rests", "what a failed attempt has left in the gradient stays there",
     "Fill the gradient with zeros before the next attempt."},
    {"clears_where_it_failed", "only ranks that ran out of memory clear their gradient",
     "Where the attempt has worked, the whole share is in the gradient, and it is computed once more."},
    {"rank_0_decides", "only rank 0's memory counts", "A failure on any rank is one for all."},
    {"gives_up_alone", "where a size of 1 fails, only that rank throws, and the others go on to the all-reduce",
     "After the exchange all ranks know it: all of them throw."},
    {"sums", "the sum is not divided by the number of ranks", "all_reduce() adds; the mean is the sum / world_size."},
    {"one_success_counts", "an attempt counts as good as soon as it has worked on any rank",
     "It has to work on all of them: look for a failure, not for a success."},
    {"halves_alone", "only ranks that ran out of memory halve the size",
     "All ranks use the same size: where it has worked, the next attempt is smaller too."},
    {"tries_zero", "after a size of 1 a size of 0 is tried", "0 samples at a time are never done: throw after 1."},
    {"never_tries_1", "OutOfMemory is thrown when the next size would be 1, which has not been tried",
     "Give up when an attempt with size 1 has failed: look at the size of the attempt, not at the next one."},
    {"counts_down", "the size falls by 1 from attempt to attempt", "Half the size, rounded down."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {
namespace {

using exercise::is_mistake;

bool try_once(std::int64_t size, LocalStep& step) {
  try {
    step.accumulate(size);
    return true;
  } catch (const OutOfMemory&) {
    if (is_mistake("fails_alone")) throw;
    return false;
  }
}

bool has_failed_anywhere(bool fits, Collectives& group) {
  const std::int64_t has_failed = fits ? 0 : 1;
  const std::vector<std::int64_t> failures = group.gather_rows(std::span<const std::int64_t>(&has_failed, 1));
  if (is_mistake("rank_0_decides")) return failures[0] == 1;
  if (is_mistake("one_success_counts")) return std::ranges::find(failures, 0) == failures.end();
  return std::ranges::find(failures, 1) != failures.end();
}

// The size of the attempt after which the ranks go on to the all-reduce.
std::int64_t find_size(std::int64_t size, LocalStep& step, Collectives& group) {
  for (;;) {
    const bool fits = try_once(size, step);
    const bool has_failed = is_mistake("retries_alone") ? !fits : has_failed_anywhere(fits, group);
    if (!has_failed) return size;
    if (size == (is_mistake("tries_zero") ? 0 : 1) || (is_mistake("never_tries_1") && size / 2 <= 1)) {
      if (fits && is_mistake("gives_up_alone")) return size;
      throw OutOfMemory("a single sample does not fit");
    }
    if (!is_mistake("keeps_rests") && !(fits && is_mistake("clears_where_it_failed")))
      std::ranges::fill(step.gradient(), 0.0F);
    if (is_mistake("counts_down"))
      --size;
    else if (!fits || !is_mistake("halves_alone"))
      size /= 2;
  }
}

}  // namespace

std::int64_t step_within_memory(std::int64_t micro_batch_size, LocalStep& step, Collectives& group) {
  const std::int64_t size = find_size(micro_batch_size, step, group);
  group.all_reduce(step.gradient()).synchronize();
  const auto divisor = static_cast<float>(is_mistake("sums") ? 1 : group.world_size());
  for (float& value : step.gradient()) value /= divisor;
  return size;
}

}  // namespace lockstep::ddp
