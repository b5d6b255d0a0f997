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

// Sends and receives control messages by rank; never blocks. Not thread-safe.
class RankConnections {
 public:
  // context: identifies the sender; the ranks of its job may connect.
  explicit RankConnections(const JobContext& context)
      : context_(context.without_shared_parts()), ranks_(static_cast<std::size_t>(context.world_size)) {}

  void open(int rank, net::StreamSocket socket);
  void close(int rank) noexcept;
  [[nodiscard]] bool is_open(int rank) const { return ranks_[static_cast<std::size_t>(rank)].stream != nullptr; }

  // Readable while take_ready() would return ranks.
  [[nodiscard]] int ready_fd() const noexcept { return ready_.fd(); }
  // Ranks whose connections have data to receive, or room for queued data. Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> take_ready() { return ready_.take(); }

  // The connection must be open. Both throw IoError if it is broken or closed by its other end, receive() also
  // FormatError.
  void flush(int rank);
  [[nodiscard]] std::optional<ControlMessage> receive(int rank);  // the next whole message, if there is one

  // Queues a message; does nothing if the rank is not connected. receive() reports a broken connection.
  void send(int rank, const ControlMessage& message);
  void broadcast(const ControlMessage& message);

 private:
  struct Connection {
    std::unique_ptr<net::FrameStream> stream;  // null: closed
    bool is_watched_for_room = false;          // the kernel has not taken all queued data
  };
  void watch_for_room(int rank);

  const JobContext context_;
  net::ReadySet ready_;  // by rank
  std::vector<Connection> ranks_;
};

}  // namespace lockstep::comm
