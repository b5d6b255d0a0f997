#include "comm/control/rank_connections.hpp"

#include <utility>

#include "base/error.hpp"

namespace lockstep::comm {

void RankConnections::open(int rank, net::StreamSocket socket) {
  ready_.add(socket.fd(), static_cast<std::uint64_t>(rank));
  ranks_[static_cast<std::size_t>(rank)].stream = std::make_unique<net::FrameStream>(
      std::move(socket), net::FrameLimits{kMaxControlBytes, static_cast<std::uint32_t>(context_.generation)});
}

void RankConnections::close(int rank) noexcept {
  auto& stream = ranks_[static_cast<std::size_t>(rank)].stream;
  ready_.remove(stream->fd());
  stream.reset();
}

void RankConnections::flush(int rank) {
  ranks_[static_cast<std::size_t>(rank)].stream->flush();
  watch_for_room(rank);
}

std::optional<ControlMessage> RankConnections::receive(int rank) {
  const auto frame = ranks_[static_cast<std::size_t>(rank)].stream->receive();
  if (!frame) return std::nullopt;
  return decode_control(frame->payload);
}

void RankConnections::send(int rank, const ControlMessage& message) {
  if (!is_open(rank)) return;
  net::FrameStream& stream = *ranks_[static_cast<std::size_t>(rank)].stream;
  try {
    send_control(stream, context_, message);
    watch_for_room(rank);
  } catch (const IoError&) {
    stream.socket().shutdown();  // receive() finds it closed
  }
}

void RankConnections::broadcast(const ControlMessage& message) {
  for (int rank = 0; rank < context_.world_size; ++rank) send(rank, message);
}

void RankConnections::watch_for_room(int rank) {
  auto& [stream, is_watched_for_room] = ranks_[static_cast<std::size_t>(rank)];
  const bool has_queued = stream->queued_bytes() > 0;
  if (std::exchange(is_watched_for_room, has_queued) == has_queued) return;
  using Interest = net::ReadySet::Interest;
  ready_.change(stream->fd(), static_cast<std::uint64_t>(rank), has_queued ? Interest::kReadAndWrite : Interest::kRead);
}

}  // namespace lockstep::comm
