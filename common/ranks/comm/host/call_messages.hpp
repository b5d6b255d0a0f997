#pragma once
/// @file
/// The messages of a host backend's calls: buffers travel in segments.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "comm/process_group_backend.hpp"
#include "comm/transport.hpp"

namespace lockstep::comm {

/// Sends and receives what calls move, over the group's transport, and records it in the trace.
///
/// A segment is a part of a buffer, whole elements: small enough to stay in the processor's cache between arriving and
/// being added, large enough that a header costs nothing beside it. An empty buffer is one empty segment, so that ranks
/// are checked against each other there too.
///
/// Thread safety: one thread at a time, the one that runs calls; interrupt() and sent() from any.
class CallMessages {
 public:
  using Call = ProcessGroup::Call;

  /// @param context        Of the group.
  /// @param transport      Between the ranks of the group.
  /// @param segment_bytes  Largest segment; rounded down to whole elements of any type. @throws ContractError  Below 8.
  CallMessages(const JobContext& context, std::unique_ptr<Transport> transport, std::int64_t segment_bytes);

  [[nodiscard]] int rank() const noexcept { return rank_; }              ///< Of this process, in the group.
  [[nodiscard]] int world_size() const noexcept { return world_size_; }  ///< Of the group.

  /// How many segments `bytes` make; at least 1.
  [[nodiscard]] std::size_t segments_in(std::span<const std::byte> bytes) const noexcept;
  /// Segment `index` of `bytes`.
  [[nodiscard]] std::span<std::byte> segment_of(std::span<std::byte> bytes, std::size_t index) const noexcept;
  /// Room for one segment, before it is reduced.
  [[nodiscard]] std::span<std::byte> arrived(std::size_t bytes) noexcept { return std::span(arrived_).first(bytes); }

  void send(const Call& call, int peer, std::span<const std::byte> bytes);     ///< One message; see Transport::send.
  void receive(const Call& call, int peer, std::span<std::byte> bytes);        ///< One message; see Transport::receive.
  void send_segments(const Call& call, int peer, std::span<std::byte> bytes);  ///< All of `bytes`.
  void receive_segments(const Call& call, int peer, std::span<std::byte> bytes);  ///< All of `bytes`.
  /// Until what was sent may be overwritten, but for the last `most_queued` messages.
  void flush(const Call& call, std::size_t most_queued = 0) { transport_->flush(call.deadline, most_queued); }

  /// Where messages are recorded from now on; may be null.
  void record_to(trace::Recorder* recorder) noexcept { recorder_ = recorder; }
  /// Makes a running call, and all later ones, fail soon with IoError.
  void interrupt() noexcept { transport_->interrupt(); }
  /// Counted since the transport was made.
  [[nodiscard]] Traffic sent() const noexcept { return transport_->sent(); }

 private:
  void record(std::string_view verb, std::size_t bytes, std::string_view preposition, int peer,
              std::chrono::steady_clock::time_point begin_time) const;

  const int rank_;
  const int world_size_;
  const int generation_;
  std::unique_ptr<Transport> transport_;
  std::size_t segment_bytes_;
  std::vector<std::byte> arrived_;
  trace::Recorder* recorder_ = nullptr;
};

}  // namespace lockstep::comm
