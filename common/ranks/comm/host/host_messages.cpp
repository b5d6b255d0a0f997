// The messages of HostProcessGroup: segments, sends and recvs, and the collectives in which every byte goes straight
// from its owner to its reader.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "comm/host/device_staging.hpp"
#include "comm/host/host_process_group.hpp"
#include "trace/recorder.hpp"

namespace lockstep::comm {

void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
  if (!from.empty() && to.data() != from.data()) std::memcpy(to.data(), from.data(), from.size());
}

void HostProcessGroup::use(std::unique_ptr<Transport> transport, std::int64_t segment_bytes) {
  constexpr std::int64_t kWidestElement = 8;
  require(segment_bytes >= kWidestElement, "segment_bytes is ", segment_bytes, ", less than one element");
  transport_ = std::move(transport);
  segment_bytes_ = static_cast<std::size_t>(segment_bytes / kWidestElement * kWidestElement);  // whole elements
  arrived_.resize(segment_bytes_);
}

Traffic HostProcessGroup::traffic_sent() const { return transport_ ? transport_->sent() : Traffic{}; }

void HostProcessGroup::interrupt() noexcept {
  if (transport_) transport_->interrupt();
}

std::size_t HostProcessGroup::segments_in(std::span<const std::byte> bytes) const noexcept {
  return std::max<std::size_t>((bytes.size() + segment_bytes_ - 1) / segment_bytes_, 1);  // - 1: rounds up
}

std::span<std::byte> HostProcessGroup::segment_of(std::span<std::byte> bytes, std::size_t index) const noexcept {
  const std::span<std::byte> rest = bytes.subspan(std::min(index * segment_bytes_, bytes.size()));
  return rest.first(std::min(segment_bytes_, rest.size()));
}

void HostProcessGroup::send(const Call& call, int peer, std::span<const std::byte> bytes) {
  const auto begin_time = trace::Clock::now();
  transport_->send(peer, frame_header(call), bytes, call.deadline);
  record_message("send ", bytes.size(), " bytes to rank ", peer, begin_time);
}

void HostProcessGroup::receive(const Call& call, int peer, std::span<std::byte> bytes) {
  const auto begin_time = trace::Clock::now();
  transport_->receive(peer, frame_header(call), bytes, call.deadline);
  record_message("receive ", bytes.size(), " bytes from rank ", peer, begin_time);
}

void HostProcessGroup::record_message(std::string_view verb, std::size_t bytes, std::string_view preposition, int peer,
                                      std::chrono::steady_clock::time_point begin_time) const {
  trace::Recorder* const recorder = this->recorder();
  if (recorder == nullptr || !recorder->has_messages()) return;
  recorder->record(recorder->lane("messages"), concat(verb, bytes, preposition, peer), trace::Category::kCommunication,
                   begin_time, trace::Clock::now());
}

void HostProcessGroup::send_segments(const Call& call, int peer, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < segments_in(bytes); ++i) send(call, peer, segment_of(bytes, i));
}

void HostProcessGroup::receive_segments(const Call& call, int peer, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < segments_in(bytes); ++i) receive(call, peer, segment_of(bytes, i));
}

void HostProcessGroup::flush(const Call& call, std::size_t most_queued) {
  if (transport_) transport_->flush(call.deadline, most_queued);
}

void HostProcessGroup::run_gather(const Call& call) {
  if (rank() != call.root) return send_segments(call, call.root, bytes_of(call.input));
  copy_bytes(part_of(call.values, rank(), world_size()), bytes_of(call.input));
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != rank()) receive_segments(call, peer, part_of(call.values, peer, world_size()));
  }
}

// The empty message back tells the root that the others agree on who the root is: two ranks that both believe to be
// the root would otherwise both send, and leave.
void HostProcessGroup::run_scatter(const Call& call) {
  if (rank() != call.root) {
    receive_segments(call, call.root, bytes_of(call.values));
    return send(call, call.root, {});
  }
  copy_bytes(bytes_of(call.values), part_of(call.input, rank(), world_size()));
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != rank()) send_segments(call, peer, part_of(call.input, peer, world_size()));
  }
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != rank()) receive(call, peer, {});
  }
}

// Step s sends to the rank s further and receives from the rank s back, so that in no step two ranks send to the same.
void HostProcessGroup::run_all_to_all(const Call& call) {
  copy_bytes(part_of(call.values, rank(), world_size()), part_of(call.input, rank(), world_size()));
  for (int step = 1; step < world_size(); ++step) {
    const int to = (rank() + step) % world_size();
    const int from = (rank() - step + world_size()) % world_size();  // + world_size: C++'s % keeps the sign
    send_segments(call, to, part_of(call.input, to, world_size()));
    receive_segments(call, from, part_of(call.values, from, world_size()));
  }
}

// All sends are queued before the first message is received, and move on while this rank waits.
std::exception_ptr HostProcessGroup::run_messages(std::span<const Call> calls) noexcept {
  if (const auto error = failure()) return error;
  const auto begin_time = trace::Clock::now();
  for (const Call& call : calls) begin(call);
  const Call* current = &calls.front();
  const auto check = [this] { throw_if_failed(); };
  std::exception_ptr error;
  try {
    for (const Call& call : calls) {
      current = &call;
      if (call.staging) call.staging->arrive(call.deadline, check);
      if (call.collective == Collective::kSend) send_segments(call, call.root, bytes_of(call.values));
    }
    for (const Call& call : calls) {
      current = &call;
      if (call.collective == Collective::kRecv) receive_segments(call, call.root, bytes_of(call.values));
    }
    flush(*current);
    for (const Call& call : calls) {
      if (call.staging) call.staging->send_back(call.deadline, check);
    }
  } catch (...) {
    error = std::current_exception();
  }
  std::exception_ptr seen;
  for (const Call& call : calls) {
    record(call, begin_time);
    const std::exception_ptr of_call = finish(call, error && &call == current ? error : nullptr);
    if (of_call) seen = of_call;
  }
  return seen;
}

}  // namespace lockstep::comm
