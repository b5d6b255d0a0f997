#pragma once
// The control connections of all ranks. Internal to the hub.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/control/wire.hpp"
#include "comm/job_context.hpp"
#include "net/frame_stream.hpp"
#include "net/ready_set.hpp"

namespace lockstep::comm {

// Sends and receives control messages by rank, without ever waiting for one. Not thread-safe.
class RankConnections {
 public:
  // context: whose messages are sent. Its job's ranks may be connected.
  explicit RankConnections(const JobContext& context)
      : context_(context.without_shared_parts()), ranks_(static_cast<std::size_t>(context.world_size)) {}

  void open(int rank, net::StreamSocket socket);
  void close(int rank) noexcept;
  [[nodiscard]] bool is_open(int rank) const { return ranks_[static_cast<std::size_t>(rank)].stream != nullptr; }

  // Readable while take_ready() would return any.
  [[nodiscard]] int ready_fd() const noexcept { return ready_.fd(); }
  // Ranks whose connections have something to receive, or room for what is queued. Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> take_ready() { return ready_.take(); }

  // Of an open connection. Both throw IoError if it is broken or closed by its other end, receive() also FormatError.
  void flush(int rank);
  [[nodiscard]] std::optional<ControlMessage> receive(int rank);  // the next whole message, if there is one

  // Queues a message; does nothing if the rank is not connected. That a connection is broken is seen by receive().
  void send(int rank, const ControlMessage& message);
  void broadcast(const ControlMessage& message);

 private:
  struct Connection {
    std::unique_ptr<net::FrameStream> stream;  // null: closed
    bool is_watched_for_room = false;          // beside what arrives: the kernel has not taken all that was sent
  };
  void watch_for_room(int rank);

  const JobContext context_;
  net::ReadySet ready_;  // by rank
  std::vector<Connection> ranks_;
};

}  // namespace lockstep::comm
