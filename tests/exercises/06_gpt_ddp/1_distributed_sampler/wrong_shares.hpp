#pragma once
/// @file
/// What people write in place of the rules of exercise 06.1, and the samples that a rank gets then: the judge compares
/// them with what a learner's function has returned.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"

namespace lockstep::exercise {

/// A sampler whose author has made one mistake.
struct WrongShare {
  enum class Order {
    kRight,
    kFirstEpoch,
    kNextEpoch,
    kSeedPlusEpoch,
    kSwapped,
    kRankInSeed,
    kRankInEpoch,
    kUnshuffled
  };
  enum class Length { kRight, kUneven, kAlwaysDrop, kAlwaysPad, kOtherWay, kOneRoundMore, kCutFirst };
  enum class Padding { kRight, kZeros, kLast, kFirstOnly, kFromTheEnd };
  enum class Share { kRight, kBlocks, kFromOne, kSorted, kByNumber, kStopsEarly, kFrontDropped };

  const char* what;  ///< Continues "that is what comes out if ".
  Order order = Order::kRight;
  Length length = Length::kRight;
  Padding padding = Padding::kRight;
  Share share = Share::kRight;
};

inline constexpr WrongShare kWrongShares[] = {
    {.what = "every epoch has the order of epoch 0", .order = WrongShare::Order::kFirstEpoch},
    {.what = "the epoch is counted from 1: pass it as it is", .order = WrongShare::Order::kNextEpoch},
    {.what = "seed + epoch is the seed and the epoch is 0: permutation() has an argument for each",
     .order = WrongShare::Order::kSeedPlusEpoch},
    {.what = "seed and epoch are exchanged in the call of permutation()", .order = WrongShare::Order::kSwapped},
    {.what = "each rank shuffles with a seed of its own", .order = WrongShare::Order::kRankInSeed},
    {.what = "each rank shuffles for an epoch of its own", .order = WrongShare::Order::kRankInEpoch},
    {.what = "the samples are not shuffled", .order = WrongShare::Order::kUnshuffled},
    {.what = "nothing is repeated or left out, so low ranks have one sample more",
     .length = WrongShare::Length::kUneven},
    {.what = "samples are left out with kPad too", .length = WrongShare::Length::kAlwaysDrop},
    {.what = "samples are repeated with kDrop too", .length = WrongShare::Length::kAlwaysPad},
    {.what = "kPad and kDrop are exchanged", .length = WrongShare::Length::kOtherWay},
    {.what = "a whole round is added where the number of ranks divides the samples already",
     .length = WrongShare::Length::kOneRoundMore},
    {.what = "the length is changed before the shuffling: the order is that of all samples, then padded or cut",
     .length = WrongShare::Length::kCutFirst},
    {.what = "the padding is sample 0, not the front of the order", .padding = WrongShare::Padding::kZeros},
    {.what = "the last sample of the order is repeated, not its front", .padding = WrongShare::Padding::kLast},
    {.what = "the first sample of the order is repeated again and again: go on with the second",
     .padding = WrongShare::Padding::kFirstOnly},
    {.what = "the padding comes from the end of the order, not from its front",
     .padding = WrongShare::Padding::kFromTheEnd},
    {.what = "each rank takes a contiguous block", .share = WrongShare::Share::kBlocks},
    {.what = "rank 0 begins at position 1", .share = WrongShare::Share::kFromOne},
    {.what = "the samples of a rank are sorted", .share = WrongShare::Share::kSorted},
    {.what = "a rank takes the samples whose number is its own modulo world_size: their positions decide",
     .share = WrongShare::Share::kByNumber},
    {.what = "the loop ends one round too early", .share = WrongShare::Share::kStopsEarly},
    {.what = "samples at the front of the order are left out, not at its end",
     .share = WrongShare::Share::kFrontDropped},
};

/// The length that this rule gives to an epoch of `count` samples on `ranks` ranks.
inline std::int64_t length_by(WrongShare::Length rule, std::int64_t count, std::int64_t ranks, bool pads) {
  using enum WrongShare::Length;
  if (rule == kUneven) return count;
  if (rule == kOneRoundMore && pads) return (count / ranks + 1) * ranks;
  const bool is_longer =
      rule == kAlwaysPad || (pads && rule != kAlwaysDrop && rule != kOtherWay) || (!pads && rule == kOtherWay);
  return is_longer ? (count + ranks - 1) / ranks * ranks : count / ranks * ranks;
}

/// The order of an epoch by this rule, before it is shared out.
inline std::vector<std::int64_t> order_by(const WrongShare& wrong, std::int64_t rank,
                                          const ddp::EpochOptions& options) {
  using enum WrongShare::Order;
  const bool pads = options.remainder == ddp::UnevenSamples::kPad;
  const std::int64_t count = options.sample_count;
  const std::int64_t length = length_by(wrong.length, count, options.world_size, pads);
  std::uint64_t seed = options.seed;
  std::int64_t epoch = wrong.order == kFirstEpoch || wrong.order == kSeedPlusEpoch ? 0 : options.epoch;
  if (wrong.order == kNextEpoch) ++epoch;
  if (wrong.order == kSeedPlusEpoch) seed += static_cast<std::uint64_t>(options.epoch);
  if (wrong.order == kRankInSeed) seed += static_cast<std::uint64_t>(rank);
  if (wrong.order == kRankInEpoch) epoch += rank;
  if (wrong.order == kSwapped) {
    epoch = static_cast<std::int64_t>(seed);
    seed = static_cast<std::uint64_t>(options.epoch);
  }
  const bool cuts_first = wrong.length == WrongShare::Length::kCutFirst;
  std::vector<std::int64_t> order = ddp::permutation(cuts_first ? length : count, seed, epoch);
  for (std::int64_t& sample : order) sample %= count;
  if (wrong.order == kUnshuffled) std::iota(order.begin(), order.end(), std::int64_t{0});
  if (wrong.share == WrongShare::Share::kFrontDropped && length < count)
    order.erase(order.begin(), order.begin() + (count - length));
  const std::vector<std::int64_t> shuffled = order;
  while (std::ssize(order) < length) {
    const auto missing = static_cast<std::size_t>(std::ssize(order) - count) % shuffled.size();
    order.push_back(wrong.padding == WrongShare::Padding::kZeros        ? 0
                    : wrong.padding == WrongShare::Padding::kLast       ? shuffled.back()
                    : wrong.padding == WrongShare::Padding::kFirstOnly  ? shuffled.front()
                    : wrong.padding == WrongShare::Padding::kFromTheEnd ? shuffled[shuffled.size() - 1 - missing]
                                                                        : shuffled[missing]);
  }
  order.resize(static_cast<std::size_t>(length));
  return order;
}

/// A rank's share by this rule.
inline std::vector<std::int64_t> share_by(const WrongShare& wrong, std::int64_t rank,
                                          const ddp::EpochOptions& options) {
  using enum WrongShare::Share;
  const std::vector<std::int64_t> order = order_by(wrong, rank, options);
  const std::int64_t ranks = options.world_size, length = std::ssize(order);
  std::vector<std::int64_t> own;
  if (wrong.share == kBlocks) {
    const std::int64_t each = length / ranks;
    return {order.begin() + rank * each, order.begin() + (rank + 1) * each};
  }
  if (wrong.share == kByNumber) {
    std::ranges::copy_if(order, std::back_inserter(own), [&](std::int64_t sample) { return sample % ranks == rank; });
    return own;
  }
  const std::int64_t end = wrong.share == kStopsEarly ? length - ranks : length;
  for (std::int64_t i = rank + (wrong.share == kFromOne ? 1 : 0); i < end; i += ranks)
    own.push_back(order[static_cast<std::size_t>(i)]);
  if (wrong.share == kSorted) std::ranges::sort(own);
  return own;
}

}  // namespace lockstep::exercise
