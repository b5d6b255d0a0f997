#include "07_launch_and_survive/2_elastic_sampler/elastic_sampler.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"deals_whole_epoch", "the samples are dealt across the borders of the batches, as chapter 06's sampler does",
     "If 3 ranks deal 8 samples, rank 2 would begin the second batch. Begin each batch with rank 0."},
    {"equal_shares", "every rank gets as many samples of a batch as the last one, and the rest of the batch is lost",
     "8 samples on 3 ranks are 3, 3 and 2, not 2, 2 and 2."},
    {"rounds_up_shares", "share_of() rounds up on every rank, so ranks with fewer samples take some of the next batch",
     "Only the first batch % W ranks have one sample more."},
    {"contiguous_shares", "each rank takes a contiguous part of the batch",
     "Deal like cards: position i of the batch goes to rank i % W."},
    {"reverses_the_deal", "the highest rank gets the first sample of each batch",
     "Position i of the batch goes to rank i % W: rank 0 comes first."},
    {"never_ends_the_epoch", "advance() counts, but begins no other epoch",
     "When no batch is left, the epoch grows by 1, and `consumed` begins at 0 again."},
    {"begins_anew", "an epoch begins with its first sample again after a restart",
     "`consumed` says how many samples of the order have been used, by whichever ranks. Begin there."},
    {"counts_own_share", "advance() counts this rank's share of the batch",
     "The state must mean the same on all ranks, and on another number of them: count the whole batch."},
    {"counts_share_times_ranks", "advance() counts this rank's share as often as there are ranks",
     "Shares differ. Ranks would disagree on where the job is: count the whole batch."},
    {"full_share_of_short_batch", "share_of() gives the share of a full batch for the short one too",
     "Its argument says how many samples the batch has."},
    {"loses_the_last_batch", "the next epoch begins although exactly one more batch is left",
     "The rest is enough if it is as large as the smallest batch: compare with <, not <=."},
    {"always_drops", "the short batch is left out although it is to be kept",
     "If keeps_short_batch is set, an epoch ends when no sample is left."},
    {"always_keeps", "the short batch is dealt although it is to be left out",
     "Without keeps_short_batch an epoch ends when less than a global batch is left."},
    {"deals_what_is_left_out", "indices() ends with the short batch although it is to be left out",
     "advance() leaves it out, so nobody uses these samples: end with the last full batch."},
    {"mean_of_means", "the gradient of every rank counts alike",
     "A sample on rank 2, which has 2 of 8, would count more than one on rank 0, which has 3: scale by W * n / N."},
    {"forgets_ddp_division", "the gradient is scaled by the rank's part of the batch, n / N",
     "DDP divides the sum over all ranks by W afterwards. Undo that."},
    {"scale_turned_round", "the scale is N / (W * n), so ranks with fewer samples count more",
     "The gradient of a mean over n samples stands for n of the N: multiply by n."},
    {"scale_of_integers", "the scale is a quotient of two integers, and has lost what comes after the point",
     "Convert one of them to double before you divide."},
    {"scale_of_full_batch", "the gradient of a short batch is scaled as if the batch were full",
     "N is the number of samples of this batch: next_batch_size()."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_mistake;

std::int64_t ElasticShard::share_of(std::int64_t batch) const {
  if (is_mistake("full_share_of_short_batch")) batch = options_.global_batch_size;
  if (is_mistake("equal_shares")) return batch / world_size_;
  if (is_mistake("rounds_up_shares")) return (batch + world_size_ - 1) / world_size_;
  return (batch + world_size_ - 1 - rank_) / world_size_;
}

std::vector<std::int64_t> ElasticShard::indices() const {
  const std::vector<std::int64_t> order = order_of_epoch_(state_.epoch);
  const std::int64_t size = options_.global_batch_size, samples = options_.dataset_size;
  const bool keeps = (options_.keeps_short_batch || is_mistake("always_keeps")) && !is_mistake("always_drops");
  const std::int64_t begin = is_mistake("begins_anew") ? 0 : state_.consumed;
  const std::int64_t end =
      keeps || is_mistake("deals_what_is_left_out") ? samples : begin + (samples - begin) / size * size;
  std::vector<std::int64_t> own;
  const auto take = [&](std::int64_t position) { own.push_back(order[static_cast<std::size_t>(position)]); };
  if (is_mistake("deals_whole_epoch")) {
    for (std::int64_t position = begin + rank_; position < end; position += world_size_) take(position);
    return own;
  }
  for (std::int64_t first = begin; first < end; first += size) {
    const std::int64_t batch = std::min(size, end - first), full = batch / world_size_, extra = batch % world_size_;
    const std::int64_t share = (batch + world_size_ - 1 - rank_) / world_size_;
    for (std::int64_t i = 0; i < share; ++i) {
      if (is_mistake("equal_shares") && i == full) break;
      const std::int64_t before = rank_ * full + std::min(rank_, extra);  // of lower ranks, in contiguous parts
      const std::int64_t seat = is_mistake("reverses_the_deal") ? world_size_ - 1 - rank_ : rank_;
      if (i * world_size_ + seat >= batch) break;
      take(first + (is_mistake("contiguous_shares") ? before + i : i * world_size_ + seat));
    }
  }
  return own;
}

void ElasticShard::advance() {
  const std::int64_t batch = next_batch_size();
  std::int64_t counted = batch;
  if (is_mistake("counts_own_share")) counted = share_of(batch);
  if (is_mistake("counts_share_times_ranks")) counted = share_of(batch) * world_size_;
  state_.consumed += counted;
  if (is_mistake("never_ends_the_epoch")) return;
  const bool keeps = (options_.keeps_short_batch || is_mistake("always_keeps")) && !is_mistake("always_drops");
  const std::int64_t most_left =
      (keeps ? 1 : options_.global_batch_size) - (is_mistake("loses_the_last_batch") ? 0 : 1);
  if (options_.dataset_size - state_.consumed <= most_left) state_ = {.epoch = state_.epoch + 1, .consumed = 0};
}

double ElasticShard::gradient_scale() const {
  const std::int64_t batch = next_batch_size();
  const auto share = static_cast<double>(share_of(batch));
  if (is_mistake("mean_of_means")) return 1;
  if (is_mistake("scale_of_integers")) return static_cast<double>(world_size_ * share_of(batch) / batch);
  const double whole = static_cast<double>(is_mistake("scale_of_full_batch") ? options_.global_batch_size : batch);
  if (is_mistake("scale_turned_round")) return whole / (share * static_cast<double>(world_size_));
  return share / whole * (is_mistake("forgets_ddp_division") ? 1 : static_cast<double>(world_size_));
}

}  // namespace lockstep::elastic
