#include <algorithm>

#include "08_accelerate/3_resume/resume.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"counts_own_samples", "the position counts the samples of one rank, so only as many ranks can continue from it",
     "advance() counts what all ranks have used: total_batch_size."},
    {"counts_when_dealt", "samples count as used as soon as begin_iteration() has returned them",
     "A checkpoint may be made after any batch. Only advance() may change `consumed` during an epoch."},
    {"begins_anew", "an epoch begins with its first sample again after a restart",
     "The position in state() says what has been used: leave that out."},
    {"deals_whole_order", "after a restart a rank still gets the positions rank, rank + P, ... of the whole order",
     "Deal what is left: its first sample, at position `consumed`, goes to rank 0."},
    {"contiguous_blocks",
     "each rank gets a contiguous block of what is left, so the batches are not those of one process",
     "Positions that are neighbours belong to the same batch: deal them to different ranks."},
    {"blocks_of_batch", "each rank takes a contiguous block of every batch instead of every P-th sample",
     "Position p of what is left goes to rank p % P."},
    {"skips_from_here", "skip_first_batches() begins at the loaded position instead of the epoch's first sample",
     "A program that loads a state and skips would skip twice. The skipped batches are the epoch's first ones."},
    {"skips_every_epoch", "later epochs begin where the first one was continued",
     "Only the rest of one epoch is short. The next begins with `consumed` 0."},
    {"never_next_epoch", "at the end of an epoch an iteration without samples comes, and no other epoch",
     "If less than a batch is left, go to the next epoch before you deal."},
    {"keeps_short_batch", "the samples that do not fill a batch are dealt as well, and ranks may get unequally many",
     "How many whole batches are left? Stop at the end of the last one."},
    {"loses_last_batch", "the next epoch begins although exactly one batch is left",
     "A batch that is left is used: compare with <, not <=."},
    {"order_of_old_epoch", "the next epoch has the order of the one before",
     "Call order_of_epoch_() again, after state_.epoch has changed."},
    {"skips_samples", "skip_first_batches() takes batches for samples", "A batch has total_batch_size samples."},
    {"one_batch_only", "an iteration has one batch only, not all that are left of the epoch",
     "The loader uses the list batch by batch: return the samples of all of them."},
    {"counts_batches", "the position counts batches, not samples",
     "Then it could not be continued with another batch size: advance() adds total_batch_size."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {
namespace {

using exercise::is_mistake;

// Where the program of "skips_every_epoch" began: it keeps the loader that skips.
std::int64_t continued_at = -1;

}  // namespace

std::vector<std::int64_t> ResumableShard::begin_iteration() {
  std::vector<std::int64_t> order = order_of_epoch_(state_.epoch);
  const auto count = std::ssize(order);
  if (continued_at < 0) continued_at = state_.consumed;
  // Of state_.consumed, in positions of the order.
  std::int64_t unit = is_mistake("counts_own_samples") ? world_size_ : 1;
  if (is_mistake("counts_batches")) unit = total_batch_size_;
  const std::int64_t wanted = total_batch_size_ + (is_mistake("loses_last_batch") ? 1 : 0);
  if (count - state_.consumed * unit < wanted && !is_mistake("never_next_epoch")) {
    state_ = {.epoch = state_.epoch + 1, .consumed = is_mistake("skips_every_epoch") ? continued_at : 0};
    if (!is_mistake("order_of_old_epoch")) order = order_of_epoch_(state_.epoch);
  }
  const std::int64_t begin = is_mistake("begins_anew") ? 0 : state_.consumed * unit;
  std::int64_t end = begin + (count - begin) / total_batch_size_ * total_batch_size_;
  if (is_mistake("keeps_short_batch")) end = count;
  if (is_mistake("one_batch_only")) end = std::min(end, begin + total_batch_size_);
  if (is_mistake("counts_when_dealt")) state_.consumed = end;
  std::vector<std::int64_t> own;
  std::int64_t position = begin + rank_, stride = world_size_;
  if (is_mistake("deals_whole_order"))
    while (position % world_size_ != rank_) ++position;
  if (is_mistake("contiguous_blocks")) {
    position = begin + rank_ * (end - begin) / world_size_;
    end = begin + (rank_ + 1) * (end - begin) / world_size_;
    stride = 1;
  }
  if (is_mistake("blocks_of_batch")) {
    const std::int64_t size = total_batch_size_ / world_size_;
    for (std::int64_t i = 0; i < (end - begin) / world_size_; ++i)
      own.push_back(order[static_cast<std::size_t>(begin + i / size * total_batch_size_ + rank_ * size + i % size)]);
    return own;
  }
  for (; position < end; position += stride) own.push_back(order[static_cast<std::size_t>(position)]);
  return own;
}

void ResumableShard::advance() {
  if (is_mistake("counts_when_dealt")) return;
  if (is_mistake("counts_batches"))
    ++state_.consumed;
  else
    state_.consumed += is_mistake("counts_own_samples") ? total_batch_size_ / world_size_ : total_batch_size_;
}

void ResumableShard::skip_first_batches(std::int64_t batches) {
  std::int64_t count = is_mistake("counts_own_samples") ? total_batch_size_ / world_size_ : total_batch_size_;
  if (is_mistake("skips_samples") || is_mistake("counts_batches")) count = 1;
  state_.consumed = batches * count + (is_mistake("skips_from_here") ? state_.consumed : 0);
}

}  // namespace lockstep::accelerate
