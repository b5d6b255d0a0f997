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

/// Sends and receives the data of calls over the group's transport, and records messages in the trace.
///
/// A segment is a part of a buffer, in whole elements: small enough to stay in the processor's cache between arriving
/// and being added, large enough that the header's cost is negligible. An empty buffer is one empty segment, so that
/// ranks are checked against each other even then.
///
/// Thread safety: one thread at a time, the one that runs calls; interrupt() and sent() from any.
class CallMessages {
 public:
  using Call = ProcessGroup::Call;

  /// @param context        Of the group.
  /// @param transport      Between the ranks of the group.
  /// @param segment_bytes  Largest segment; rounded down to whole elements of any type. @throws ContractError  Below 8.
  CallMessages(const JobContext& context, std::unique_ptr<Transport> transport, std::int64_t segment_bytes);

  [[nodiscard]] int rank() const noexcept { return rank_; }  ///< In the group.
  [[nodiscard]] int world_size() const noexcept { return world_size_; }

  /// Number of segments in `bytes`; at least 1.
  [[nodiscard]] std::size_t segments_in(std::span<const std::byte> bytes) const noexcept;
  [[nodiscard]] std::span<std::byte> segment_of(std::span<std::byte> bytes, std::size_t index) const noexcept;
  /// Buffer for one received segment, before it is reduced.
  [[nodiscard]] std::span<std::byte> arrived(std::size_t bytes) noexcept { return std::span(arrived_).first(bytes); }

  /// One message; see Transport::send.
  void send(const Call& call, int peer, std::span<const std::byte> bytes);
  /// One message; see Transport::receive. Throws TimeoutError if the call's deadline has passed, even if the message
  /// is there: a call of many messages ends at its deadline although each of them came at once.
  void receive(const Call& call, int peer, std::span<std::byte> bytes);
  void send_segments(const Call& call, int peer, std::span<std::byte> bytes);
  void receive_segments(const Call& call, int peer, std::span<std::byte> bytes);
  /// Blocks until all but the last `most_queued` messages are sent; their buffers may then be overwritten.
  void flush(const Call& call, std::size_t most_queued = 0) { transport_->flush(call.deadline, most_queued); }

  /// Messages are recorded here from now on; null: nowhere.
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
