// Results of shuffles, votes, matches and reductions for each lane of a meeting.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"
#include "emulator/cuda/lockstep_emulator/warp.h"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {

namespace {

constexpr std::size_t kMostBytes = 16;
using Value = std::array<std::byte, kMostBytes>;

template <typename Visit>
void for_each_present(const WarpMeeting& meeting, Visit visit) {
  for_each_lane(meeting.present, [&](std::uint32_t lane) { visit(lane, *meeting.lanes[lane]); });
}

/// The lane that each kind of shuffle reads (PTX ISA, shfl.sync: if the named lane is outside the segment of `width`
/// lanes, a lane reads its own value; xor may read earlier segments).
std::uint32_t source_lane(ShuffleKind kind, std::uint32_t lane, std::uint32_t argument, std::uint32_t width) {
  const std::uint32_t segment = lane & ~(width - 1), last = segment + width - 1;
  switch (kind) {
    case ShuffleKind::kIndex:
      return segment | (argument & (width - 1));
    case ShuffleKind::kUp:
      return argument <= lane - segment ? lane - argument : lane;
    case ShuffleKind::kDown:
      return argument <= last - lane ? lane + argument : lane;
    case ShuffleKind::kXor:
      break;
  }
  const std::uint32_t source = lane ^ (argument & 31U);
  return source <= last ? source : lane;
}

template <ShuffleKind kKind, typename Word>
void exchange(WarpMeeting& meeting) {
  std::array<Word, 32> values;
  for_each_present(meeting, [&](std::uint32_t lane, const LaneCall& call) {
    std::memcpy(&values[lane], call.value, sizeof(Word) == kMostBytes ? meeting.bytes : sizeof(Word));
  });
  for_each_present(meeting, [&](std::uint32_t lane, LaneCall& call) {
    const std::uint32_t source = source_lane(kKind, lane, call.argument, call.segment_lanes);
    const std::size_t bytes = sizeof(Word) == kMostBytes ? meeting.bytes : sizeof(Word);
    if ((meeting.present >> source & 1U) != 0) {
      std::memcpy(call.value, &values[source], bytes);
    } else {
      std::memset(call.value, 0xff, bytes);  // undefined: NaN as a float, which is noticeable
      call.reads_undefined = true;
    }
  });
}

template <ShuffleKind kKind>
void finish_shuffle(WarpMeeting& meeting) {
  if (meeting.bytes == 4) return exchange<kKind, std::uint32_t>(meeting);
  if (meeting.bytes == 8) return exchange<kKind, std::uint64_t>(meeting);
  exchange<kKind, Value>(meeting);
}

const std::array<WarpOperation, 4> kShuffles = {{{"__shfl_sync", &finish_shuffle<ShuffleKind::kIndex>},
                                                 {"__shfl_up_sync", &finish_shuffle<ShuffleKind::kUp>},
                                                 {"__shfl_down_sync", &finish_shuffle<ShuffleKind::kDown>},
                                                 {"__shfl_xor_sync", &finish_shuffle<ShuffleKind::kXor>}}};

template <VoteKind kKind>
void finish_vote(WarpMeeting& meeting) {
  std::uint32_t ballot = 0;
  for_each_present(meeting, [&](std::uint32_t lane, const LaneCall& call) { ballot |= call.argument << lane; });
  std::uint32_t result = ballot;
  if (kKind == VoteKind::kAll) result = ballot == meeting.present ? 1 : 0;
  if (kKind == VoteKind::kAny) result = ballot != 0 ? 1 : 0;
  for_each_present(meeting, [&](std::uint32_t, LaneCall& call) { call.result = result; });
}

const std::array<WarpOperation, 3> kVotes = {{{"__all_sync", &finish_vote<VoteKind::kAll>},
                                              {"__any_sync", &finish_vote<VoteKind::kAny>},
                                              {"__ballot_sync", &finish_vote<VoteKind::kBallot>}}};

void finish_match_any(WarpMeeting& meeting) {
  for_each_present(meeting, [&](std::uint32_t, LaneCall& call) {
    call.result = 0;
    for_each_present(meeting, [&](std::uint32_t other, const LaneCall& compared) {
      if (std::memcmp(call.value, compared.value, meeting.bytes) == 0) call.result |= 1U << other;
    });
  });
}

void finish_match_all(WarpMeeting& meeting) {
  const void* first = meeting.lanes[static_cast<std::size_t>(std::countr_zero(meeting.present))]->value;
  bool are_equal = true;
  for_each_present(meeting, [&](std::uint32_t, const LaneCall& call) {
    are_equal = are_equal && std::memcmp(first, call.value, meeting.bytes) == 0;
  });
  for_each_present(meeting, [&](std::uint32_t, LaneCall& call) { call.result = are_equal ? meeting.present : 0; });
}

const WarpOperation kMatchAny{"__match_any_sync", &finish_match_any};
const WarpOperation kMatchAll{"__match_all_sync", &finish_match_all};

std::uint32_t combine(ReduceKind kind, std::uint32_t a, std::uint32_t b) {
  const auto signed_a = static_cast<std::int32_t>(a), signed_b = static_cast<std::int32_t>(b);
  switch (kind) {
    case ReduceKind::kAdd:
    case ReduceKind::kAddSigned:
      return a + b;
    case ReduceKind::kMin:
      return std::min(a, b);
    case ReduceKind::kMinSigned:
      return static_cast<std::uint32_t>(std::min(signed_a, signed_b));
    case ReduceKind::kMax:
      return std::max(a, b);
    case ReduceKind::kMaxSigned:
      return static_cast<std::uint32_t>(std::max(signed_a, signed_b));
    case ReduceKind::kAnd:
      return a & b;
    case ReduceKind::kOr:
      return a | b;
    case ReduceKind::kXor:
      break;
  }
  return a ^ b;
}

template <ReduceKind kKind>
void finish_reduce(WarpMeeting& meeting) {
  const auto first = static_cast<std::size_t>(std::countr_zero(meeting.present));
  std::uint32_t result = meeting.lanes[first]->argument;
  for_each_present(meeting, [&](std::uint32_t lane, const LaneCall& call) {
    if (lane != first) result = combine(kKind, result, call.argument);
  });
  for_each_present(meeting, [&](std::uint32_t, LaneCall& call) { call.result = result; });
}

const std::array<WarpOperation, 9> kReductions = {{{"__reduce_add_sync", &finish_reduce<ReduceKind::kAdd>},
                                                   {"__reduce_add_sync", &finish_reduce<ReduceKind::kAddSigned>},
                                                   {"__reduce_min_sync", &finish_reduce<ReduceKind::kMin>},
                                                   {"__reduce_min_sync", &finish_reduce<ReduceKind::kMinSigned>},
                                                   {"__reduce_max_sync", &finish_reduce<ReduceKind::kMax>},
                                                   {"__reduce_max_sync", &finish_reduce<ReduceKind::kMaxSigned>},
                                                   {"__reduce_and_sync", &finish_reduce<ReduceKind::kAnd>},
                                                   {"__reduce_or_sync", &finish_reduce<ReduceKind::kOr>},
                                                   {"__reduce_xor_sync", &finish_reduce<ReduceKind::kXor>}}};

void require_thread() { require(current_thread() != nullptr, "warp functions work inside a kernel only"); }

std::uint32_t meet(const WarpOperation& operation, unsigned mask, std::size_t bytes, LaneCall call, SourcePlace at) {
  require_thread();
  BlockRunner::instance().meet(operation, mask, bytes, call, at);
  return call.result;
}

}  // namespace

void shuffle(ShuffleKind kind, unsigned mask, void* value, std::size_t bytes, unsigned argument, int width,
             SourcePlace at) {
  require(bytes >= 1 && bytes <= kMostBytes, "a shuffle moves 1 to 16 bytes, not ", bytes);
  require(width >= 1 && width <= 32 && std::has_single_bit(static_cast<unsigned>(width)),
          "a shuffle's width is 1, 2, 4, 8, 16 or 32, not ", width);
  LaneCall call;
  call.value = value;
  call.argument = argument;
  call.segment_lanes = static_cast<std::uint32_t>(width);
  meet(kShuffles[static_cast<std::size_t>(kind)], mask, bytes, call, at);
}

unsigned vote(VoteKind kind, unsigned mask, int predicate, SourcePlace at) {
  LaneCall call;
  call.argument = predicate != 0 ? 1 : 0;
  return meet(kVotes[static_cast<std::size_t>(kind)], mask, 0, call, at);
}

unsigned match_any(unsigned mask, const void* value, std::size_t bytes, SourcePlace at) {
  LaneCall call;
  call.value = const_cast<void*>(value);  // a match only reads it
  return meet(kMatchAny, mask, bytes, call, at);
}

unsigned match_all(unsigned mask, const void* value, std::size_t bytes, int* are_equal, SourcePlace at) {
  LaneCall call;
  call.value = const_cast<void*>(value);  // a match only reads it
  const std::uint32_t result = meet(kMatchAll, mask, bytes, call, at);
  *are_equal = result != 0 ? 1 : 0;
  return result;
}

unsigned reduce(ReduceKind kind, unsigned mask, unsigned value, SourcePlace at) {
  LaneCall call;
  call.argument = value;
  return meet(kReductions[static_cast<std::size_t>(kind)], mask, 0, call, at);
}

}  // namespace lockstep::emulator
