#include "comm/host/call_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "trace/recorder.hpp"

namespace lockstep::comm {

CallMessages::CallMessages(const JobContext& context, std::unique_ptr<Transport> transport, std::int64_t segment_bytes)
    : rank_(context.rank),
      world_size_(context.world_size),
      generation_(context.generation),
      transport_(std::move(transport)) {
  constexpr std::int64_t kWidestElement = 8;
  require(segment_bytes >= kWidestElement, "segment_bytes is ", segment_bytes, ", less than one element");
  segment_bytes_ = static_cast<std::size_t>(segment_bytes / kWidestElement * kWidestElement);  // whole elements
  arrived_.resize(segment_bytes_);
}

std::size_t CallMessages::segments_in(std::span<const std::byte> bytes) const noexcept {
  return std::max<std::size_t>((bytes.size() + segment_bytes_ - 1) / segment_bytes_, 1);  // - 1: rounds up
}

std::span<std::byte> CallMessages::segment_of(std::span<std::byte> bytes, std::size_t index) const noexcept {
  const std::span<std::byte> rest = bytes.subspan(std::min(index * segment_bytes_, bytes.size()));
  return rest.first(std::min(segment_bytes_, rest.size()));
}

void CallMessages::send(const Call& call, int peer, std::span<const std::byte> bytes) {
  const auto begin_time = trace::Clock::now();
  transport_->send(peer, call.header(rank_, generation_), bytes, call.deadline);
  record("send ", bytes.size(), " bytes to rank ", peer, begin_time);
}

void CallMessages::receive(const Call& call, int peer, std::span<std::byte> bytes) {
  const auto begin_time = trace::Clock::now();
  if (begin_time >= call.deadline.when()) {
    throw TimeoutError(concat("not complete after ", format_seconds(call.deadline.waited())));
  }
  transport_->receive(peer, call.header(rank_, generation_), bytes, call.deadline);
  record("receive ", bytes.size(), " bytes from rank ", peer, begin_time);
}

void CallMessages::record(std::string_view verb, std::size_t bytes, std::string_view preposition, int peer,
                          std::chrono::steady_clock::time_point begin_time) const {
  if (recorder_ == nullptr || !recorder_->has_messages()) return;
  recorder_->record(recorder_->lane("messages"), concat(verb, bytes, preposition, peer),
                    trace::Category::kCommunication, begin_time, trace::Clock::now());
}

void CallMessages::send_segments(const Call& call, int peer, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < segments_in(bytes); ++i) send(call, peer, segment_of(bytes, i));
}

void CallMessages::receive_segments(const Call& call, int peer, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < segments_in(bytes); ++i) receive(call, peer, segment_of(bytes, i));
}

}  // namespace lockstep::comm
