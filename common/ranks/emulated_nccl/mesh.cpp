#include "emulated_nccl/mesh.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lockstep::emulated_nccl {

Mesh::Mesh(int rank, std::vector<net::StreamSocket> sockets)
    : rank_(rank),
      sockets_(std::move(sockets)),
      links_(sockets_.size()),
      wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_up_.is_open()) throw IoError("eventfd", errno);
}

void Mesh::exchange(std::span<const Message> sends, std::span<const Message> receives) {
  queue(sends, receives);
  copy_own();
  while (!is_done()) {
    if (is_interrupted_) throw IoError("interrupted");
    bool has_moved = false;
    for (int peer = 0; peer < size(); ++peer) {
      has_moved |= send_some(peer);
      has_moved |= receive_some(peer);
    }
    if (!has_moved) sleep_until_ready();
  }
}

void Mesh::queue(std::span<const Message> sends, std::span<const Message> receives) {
  for (const Message& message : sends) {
    const auto bytes = static_cast<std::uint64_t>(message.bytes.size());
    links_[static_cast<std::size_t>(message.peer)].outgoing.push_back({std::bit_cast<Header>(bytes), message.bytes, 0});
  }
  for (const Message& message : receives) {
    links_[static_cast<std::size_t>(message.peer)].incoming.push_back({{}, message.bytes, 0});
  }
}

// Messages of a rank to itself are received in the same exchange: the caller has checked that.
void Mesh::copy_own() {
  Link& own = links_[static_cast<std::size_t>(rank_)];
  for (std::size_t i = 0; i < std::min(own.outgoing.size(), own.incoming.size()); ++i) {
    const auto from = own.outgoing[i].payload, to = own.incoming[i].payload;
    if (!from.empty()) std::memcpy(to.data(), from.data(), std::min(from.size(), to.size()));
  }
  own = {};
}

bool Mesh::send_some(int peer) {
  auto& outgoing = links_[static_cast<std::size_t>(peer)].outgoing;
  bool has_moved = false;
  while (!outgoing.empty()) {
    Moving& message = outgoing.front();
    const std::size_t of_header = std::min(message.moved, message.header.size());
    const std::size_t moved = sockets_[static_cast<std::size_t>(peer)].send_some(
        std::span(message.header).subspan(of_header), message.payload.subspan(message.moved - of_header));
    if (moved == 0) break;
    has_moved = true;
    message.moved += moved;
    if (message.left() == 0) outgoing.pop_front();
  }
  return has_moved;
}

bool Mesh::receive_some(int peer) {
  auto& incoming = links_[static_cast<std::size_t>(peer)].incoming;
  bool has_moved = false;
  while (!incoming.empty()) {
    Moving& message = incoming.front();
    const std::size_t of_header = std::min(message.moved, message.header.size());
    const std::size_t moved = sockets_[static_cast<std::size_t>(peer)].receive_some(
        std::span(message.header).subspan(of_header), message.payload.subspan(message.moved - of_header));
    if (moved == 0) break;
    has_moved = true;
    message.moved += moved;
    if (message.moved >= message.header.size()) check_size(peer, message);
    if (message.left() == 0) incoming.pop_front();
  }
  return has_moved;
}

void Mesh::check_size(int peer, const Moving& message) const {
  const auto bytes = std::bit_cast<std::uint64_t>(message.header);
  if (bytes == message.payload.size()) return;
  throw FormatError(concat("rank ", peer, " sent ", bytes, " bytes where ", message.payload.size(), " fit"));
}

bool Mesh::is_done() const noexcept {
  return std::all_of(links_.begin(), links_.end(),
                     [](const Link& link) { return link.outgoing.empty() && link.incoming.empty(); });
}

void Mesh::sleep_until_ready() {
  poll_entries_.assign(1, {wake_up_.get(), POLLIN, 0});
  for (std::size_t peer = 0; peer < links_.size(); ++peer) {
    const int events = (links_[peer].outgoing.empty() ? 0 : POLLOUT) | (links_[peer].incoming.empty() ? 0 : POLLIN);
    if (events != 0) poll_entries_.push_back({sockets_[peer].fd(), static_cast<short>(events), 0});
  }
  constexpr int kNoLimit = -1;
  if (::poll(poll_entries_.data(), poll_entries_.size(), kNoLimit) < 0 && errno != EINTR) throw IoError("poll", errno);
}

void Mesh::interrupt() noexcept {
  is_interrupted_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_up_.get(), &one, sizeof(one));
}

}  // namespace lockstep::emulated_nccl
