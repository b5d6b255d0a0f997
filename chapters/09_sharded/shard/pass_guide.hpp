#pragma once
/// @file
/// How ranks without data learn what the others do in a pass of which there is no record yet.
#include <cstdint>
#include <optional>
#include <span>

#include "09_sharded/shard/fetch_order.hpp"
#include "comm/buffer.hpp"
#include "comm/process_group.hpp"

namespace lockstep::sharded {

/// The first pass of a kind, if some ranks have no data in it: the lowest rank with data tells all of them each event
/// before it happens. A rank without data cannot know the events otherwise, since it runs no forward.
///
/// Every call is collective: ranks with data announce, those without follow. Thread safety: none; one thread.
/// @cost  A broadcast of 8 bytes for each event.
class PassGuide {
 public:
  /// @param group     Must outlive this object. @param has_data  On at least one rank.
  PassGuide(comm::ProcessGroup& group, bool has_data) : group_(group), has_data_(has_data) {
    std::int64_t first = has_data ? group.rank() : group.world_size() - 1;
    group_.all_reduce(comm::host_buffer(std::span(&first, 1)), comm::ReduceOp::kMin).synchronize();
    leader_ = static_cast<int>(first);
  }

  [[nodiscard]] bool has_data() const noexcept { return has_data_; }

  /// With data: the event comes next.
  void announce(FetchOrder::Event event) {
    (void)tell(2 * static_cast<std::int64_t>(event.unit) + (event.is_reduction ? 1 : 0));
  }
  /// With data: the pass has ended.
  void announce_end() { (void)tell(kEnd); }

  /// Without data: the event that comes next; empty: the pass has ended.
  [[nodiscard]] std::optional<FetchOrder::Event> follow() {
    const std::int64_t told = tell(kEnd);
    if (told == kEnd) return std::nullopt;
    return FetchOrder::Event{static_cast<std::size_t>(told / 2), told % 2 == 1};
  }

 private:
  static constexpr std::int64_t kEnd = -1;

  std::int64_t tell(std::int64_t value) {
    group_.broadcast(comm::host_buffer(std::span(&value, 1)), leader_).synchronize();
    return value;
  }

  comm::ProcessGroup& group_;
  bool has_data_;
  int leader_ = 0;
};

}  // namespace lockstep::sharded
