#pragma once
/// @file
/// Messages between the ranks of one host, through shared memory.
#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "comm/shared_memory/shared_memory.hpp"
#include "comm/transport.hpp"

namespace lockstep::comm {

/// One queue of bytes per directed pair of ranks, with one writer and one reader, so that no lock is needed. A message
/// is a record of 64 bytes and its payload, in pieces that fit into the queue. There is no checksum: memory does not
/// corrupt data as a wire may, and a process that could damage the queues could damage the buffers too.
///
/// Only few pairs of ranks ever exchange messages: neighbours in a ring, partners in a tree. From about 64 ranks on, a
/// queue gets its memory when its pair first uses it, since all P * P queues would fill the machine.
///
/// Thread safety: as Transport. sent() from any thread.
class SharedMemoryTransport final : public Transport {
 public:
  /// Adds the queues to the shared file. Collective.
  /// @param memory  The group's memory.
  /// @throws IoError, TimeoutError, PeerFailedError  As SharedMemory::grow().
  SharedMemoryTransport(std::shared_ptr<SharedMemory> memory, const Deadline& deadline);
  ~SharedMemoryTransport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "shared memory"; }
  void send(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes,
            const Deadline& deadline) override;
  /// @throws FormatError  The payload's size differs from that of `bytes`.
  void receive(int peer, const net::FrameHeader& expected, std::span<std::byte> bytes,
               const Deadline& deadline) override;
  void flush(const Deadline& deadline, std::size_t most_queued = 0) override;
  void interrupt() noexcept override { memory_->interrupt(); }
  [[nodiscard]] Traffic sent() const noexcept override;

 private:
  struct Queue;
  struct Outgoing;
  struct Incoming;

  [[nodiscard]] Doorbell& doorbell_of(int rank) const noexcept;
  [[nodiscard]] Outgoing& outgoing_to(int peer);
  [[nodiscard]] Incoming& incoming_from(int peer);
  [[nodiscard]] Queue* open_queue(int from, int to) const;
  [[nodiscard]] std::size_t queue_bytes() const noexcept;
  bool push_all() noexcept;
  [[nodiscard]] bool has_room() const noexcept;
  bool push(int peer, Outgoing& out) noexcept;
  void pull(int peer, std::span<std::byte> bytes, const Deadline& deadline);

  std::shared_ptr<SharedMemory> memory_;
  std::size_t capacity_ = 0;  // of a queue, in bytes; a power of two
  Reserve reserve_;
  SharedRegion region_;
  std::optional<Waiter> waiter_;
  std::map<int, Outgoing> outgoing_;  // by peer; only peers that this rank has sent to
  std::map<int, Incoming> incoming_;
  std::atomic<std::uint64_t> payload_bytes_sent_{0};
  std::atomic<std::uint64_t> messages_sent_{0};
};

}  // namespace lockstep::comm
