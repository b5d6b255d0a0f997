#include "net/frame_stream.hpp"

#include <poll.h>

#include <utility>

namespace lockstep::net {

short FrameStream::poll_events() const noexcept { return queue_.empty() ? POLLIN : POLLIN | POLLOUT; }

std::optional<Frame> FrameStream::receive() {
  while (!partial_) {
    const std::size_t count = socket_.receive_some(std::span(header_bytes_).subspan(header_received_));
    if (count == 0) return std::nullopt;
    header_received_ += count;
    if (header_received_ < kFrameHeaderBytes) continue;
    partial_ = Frame{open_header(header_bytes_, limits_, socket_.peer(), socket_.frame_mac()), {}};
    partial_->payload.resize(partial_->header.payload_bytes);
    payload_received_ = 0;
  }
  while (payload_received_ < partial_->payload.size()) {
    const std::size_t count = socket_.receive_some(std::span(partial_->payload).subspan(payload_received_));
    if (count == 0) return std::nullopt;
    payload_received_ += count;
  }
  check_payload(header_bytes_, partial_->payload, socket_.peer(), socket_.frame_mac());
  header_received_ = 0;
  return std::exchange(partial_, std::nullopt);
}

void FrameStream::send(const FrameHeader& header, std::span<const std::byte> payload) {
  const EncodedHeader sealed = seal(header, payload, socket_.frame_mac());
  std::vector<std::byte> bytes(sealed.begin(), sealed.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  queued_bytes_ += bytes.size();
  queue_.push_back(std::move(bytes));
  flush();
}

void FrameStream::flush() {
  while (!queue_.empty()) {
    const std::span<const std::byte> rest = std::span(queue_.front()).subspan(sent_of_first_);
    const std::size_t count = socket_.send_some(rest);
    queued_bytes_ -= count;
    sent_of_first_ += count;
    if (count < rest.size()) return;
    queue_.pop_front();
    sent_of_first_ = 0;
  }
}

void FrameStream::flush_until(const Deadline& deadline) {
  for (flush(); !queue_.empty(); flush()) {
    if (!socket_.wait_writable(deadline)) return;
  }
}

}  // namespace lockstep::net
