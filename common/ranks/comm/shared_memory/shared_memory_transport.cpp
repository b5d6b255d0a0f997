#include "comm/shared_memory/shared_memory_transport.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "comm/copy_bytes.hpp"

namespace lockstep::comm {
namespace {

constexpr std::size_t kLine = 64;  // size of a cache line
constexpr std::size_t kMaxCapacity = std::size_t{256} << 10;
constexpr std::size_t kMinCapacity = std::size_t{8} << 10;
constexpr std::size_t kMaxQueuesBytes = std::size_t{32}
                                        << 20;  // for all pairs that get queues at once: many ranks get smaller queues
// The other end is told of bytes in pieces of this size, so that both ends copy at the same time.
constexpr std::size_t kPieceBytes = std::size_t{32} << 10;

std::size_t pairs_of(int world_size) {
  return static_cast<std::size_t>(world_size) * static_cast<std::size_t>(world_size);
}

std::size_t capacity_for(int world_size) {
  return std::clamp(std::bit_floor(kMaxQueuesBytes / pairs_of(world_size)), kMinCapacity, kMaxCapacity);
}

// Precedes a payload.
struct alignas(kLine) Record {
  net::FrameHeader header;
};
static_assert(sizeof(Record) == net::kFrameHeaderBytes && std::is_trivially_copyable_v<Record>);

// Payloads end at a line, so that records never wrap around the end of a queue.
std::size_t padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

// Bytes [read, written) are in the queue; both only grow. Byte i is at i mod capacity.
struct SharedMemoryTransport::Queue {
  alignas(kLine) std::atomic<std::uint64_t> written;  // the sender's
  alignas(kLine) std::atomic<std::uint64_t> read;     // the receiver's

  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

struct SharedMemoryTransport::Outgoing {
  struct Message {
    Record record;
    std::span<const std::byte> payload;
  };
  Queue* queue = nullptr;
  std::uint64_t written = 0;     // including bytes that the receiver has not been told of
  std::uint64_t known_read = 0;  // the queue's `read` as last seen: reading it again costs a cache miss
  std::deque<Message> messages;
  std::size_t done = 0;  // of the first message, its record and padding included

  [[nodiscard]] std::size_t payload_bytes() const { return messages.front().payload.size(); }
  [[nodiscard]] bool has_room_since() const {
    return !messages.empty() && queue->read.load(std::memory_order_seq_cst) != known_read;
  }
};

struct SharedMemoryTransport::Incoming {
  Queue* queue = nullptr;
  std::uint64_t read = 0;
  std::uint64_t known_written = 0;
};

// The region: a doorbell per rank, then the queue from rank a to rank b at place a * world_size + b.
SharedMemoryTransport::SharedMemoryTransport(std::shared_ptr<SharedMemory> memory, const Deadline& deadline)
    : memory_(std::move(memory)),
      capacity_(capacity_for(memory_->world_size())),
      reserve_(pairs_of(memory_->world_size()) * capacity_ <= kMaxQueuesBytes ? Reserve::kNow : Reserve::kOnUse) {
  const std::size_t doorbells_bytes = static_cast<std::size_t>(memory_->world_size()) * sizeof(Doorbell);
  region_ = memory_->grow(doorbells_bytes + pairs_of(memory_->world_size()) * queue_bytes(), deadline, reserve_);
  if (reserve_ == Reserve::kOnUse) memory_->reserve(region_.data, doorbells_bytes);
  waiter_.emplace(memory_->make_waiter(doorbell_of(memory_->rank())));
}

std::size_t SharedMemoryTransport::queue_bytes() const noexcept { return sizeof(Queue) + capacity_; }

// Both ends reserve the queue, because either may be the first to touch it.
SharedMemoryTransport::Queue* SharedMemoryTransport::open_queue(int from, int to) const {
  const auto ranks = static_cast<std::size_t>(memory_->world_size());
  const std::size_t place = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
  std::byte* const queue = region_.data + ranks * sizeof(Doorbell) + place * queue_bytes();
  if (reserve_ == Reserve::kOnUse) memory_->reserve(queue, queue_bytes());
  return reinterpret_cast<Queue*>(queue);
}

SharedMemoryTransport::~SharedMemoryTransport() { memory_->leave(); }

Doorbell& SharedMemoryTransport::doorbell_of(int rank) const noexcept {
  return reinterpret_cast<Doorbell*>(region_.data)[rank];
}

SharedMemoryTransport::Outgoing& SharedMemoryTransport::outgoing_to(int peer) {
  const bool is_peer = peer >= 0 && peer < memory_->world_size() && peer != memory_->rank();
  require(is_peer, "rank ", memory_->rank(), " sends no messages to rank ", peer);
  const auto found = outgoing_.find(peer);
  if (found != outgoing_.end()) return found->second;
  Queue* const queue = open_queue(memory_->rank(), peer);
  Outgoing& out = outgoing_[peer];
  out.queue = queue;
  return out;
}

SharedMemoryTransport::Incoming& SharedMemoryTransport::incoming_from(int peer) {
  const bool is_peer = peer >= 0 && peer < memory_->world_size() && peer != memory_->rank();
  require(is_peer, "rank ", memory_->rank(), " receives no messages from rank ", peer);
  const auto found = incoming_.find(peer);
  return found != incoming_.end() ? found->second : incoming_[peer] = Incoming{open_queue(peer, memory_->rank())};
}

void SharedMemoryTransport::send(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes,
                                 const Deadline&) {
  memory_->check_not_interrupted();
  Outgoing& out = outgoing_to(peer);
  Record record{header};
  record.header.payload_bytes = bytes.size();
  out.messages.push_back({record, bytes});
  payload_bytes_sent_ += bytes.size();
  ++messages_sent_;
  (void)push(peer, out);
}

// Writes as much as the queue has room for. Returns whether it wrote anything.
bool SharedMemoryTransport::push(int peer, Outgoing& out) noexcept {
  bool has_moved = false;
  while (!out.messages.empty()) {
    if (out.written - out.known_read == capacity_) {
      out.known_read = out.queue->read.load(std::memory_order_seq_cst);
      if (out.written - out.known_read == capacity_) break;
    }
    const Outgoing::Message& message = out.messages.front();
    const std::size_t total = sizeof(Record) + padded(message.payload.size());
    const std::size_t at = out.written % capacity_;
    const std::size_t room = std::min(capacity_ - (out.written - out.known_read), capacity_ - at);
    const std::size_t step = std::min({room, total - out.done, out.done == 0 ? sizeof(Record) : kPieceBytes});
    std::byte* const to = out.queue->data() + at;
    if (out.done == 0) {
      std::memcpy(to, &message.record, sizeof(Record));  // room is a multiple of a line, and so of the record
    } else {
      const std::size_t first = out.done - sizeof(Record);
      const std::size_t rest = message.payload.size() - std::min(first, message.payload.size());
      if (rest > 0) copy_bytes(to, message.payload.data() + first, std::min(step, rest));  // the padding is not written
    }
    out.done += step;
    out.written += step;
    has_moved = true;
    if (out.done == total) {
      out.messages.pop_front();
      out.done = 0;
    }
    const bool is_record_alone = out.done == sizeof(Record);  // its payload follows at once
    if (is_record_alone && out.written - out.known_read < capacity_) continue;
    out.queue->written.store(out.written, std::memory_order_seq_cst);
    doorbell_of(peer).ring();
  }
  return has_moved;
}

// Whether a receiver has made room that has not been used yet.
bool SharedMemoryTransport::has_room() const noexcept {
  return std::ranges::any_of(outgoing_, [](const auto& to_peer) { return to_peer.second.has_room_since(); });
}

bool SharedMemoryTransport::push_all() noexcept {
  bool has_moved = false;
  for (auto& [peer, out] : outgoing_) {
    if (!out.messages.empty()) has_moved |= push(peer, out);
  }
  return has_moved;
}

// Fills `bytes` from the queue of `peer`, which delivers at least that many, with padding.
void SharedMemoryTransport::pull(int peer, std::span<std::byte> bytes, const Deadline& deadline) {
  Incoming& in = incoming_from(peer);
  const std::size_t total = padded(bytes.size());
  for (std::size_t done = 0; done < total;) {
    if (in.read == in.known_written) {
      // Sleep only if neither this queue nor an outgoing one can move.
      const auto can_move = [&] {
        if (in.queue->written.load(std::memory_order_seq_cst) != in.read) return true;
        return has_room();
      };
      const auto amounts = [&] { return concat(" (", done, " of ", bytes.size(), " bytes received)"); };
      const bool has_pushed = push_all();
      if ((has_pushed || done > 0) && deadline.has_expired()) {  // data that arrives in one piece costs no clock
        throw TimeoutError(concat("the data from ", memory_->name_of(peer), " did not all arrive within ",
                                  format_seconds(deadline.waited()), amounts()));
      }
      if (!has_pushed && !memory_->wait_for(peer, *waiter_, can_move, deadline)) {
        throw TimeoutError(
            concat("no data from ", memory_->name_of(peer), " for ", format_seconds(deadline.waited()), amounts()));
      }
      in.known_written = in.queue->written.load(std::memory_order_seq_cst);
      continue;
    }
    const std::size_t at = in.read % capacity_;
    const std::size_t step =
        std::min<std::size_t>({in.known_written - in.read, capacity_ - at, total - done, kPieceBytes});
    const std::size_t wanted = bytes.size() - std::min(done, bytes.size());
    if (wanted > 0) copy_bytes(bytes.data() + done, in.queue->data() + at, std::min(step, wanted));
    done += step;
    in.read += step;
    in.queue->read.store(in.read, std::memory_order_seq_cst);
    doorbell_of(peer).ring();
  }
}

void SharedMemoryTransport::receive(int peer, const net::FrameHeader& expected, std::span<std::byte> bytes,
                                    const Deadline& deadline) {
  memory_->check_not_interrupted();
  Record record;
  pull(peer, std::as_writable_bytes(std::span(&record, 1)), deadline);
  check_same_collective(expected, memory_->name_of(memory_->rank()), record.header, memory_->name_of(peer));
  if (record.header.payload_bytes != bytes.size()) {
    throw FormatError(concat(memory_->name_of(peer), " sent a payload of ", record.header.payload_bytes, " bytes, but ",
                             bytes.size(), " were expected"));
  }
  pull(peer, bytes, deadline);
}

void SharedMemoryTransport::flush(const Deadline& deadline, std::size_t most_queued) {
  memory_->check_not_interrupted();
  for (;;) {
    const bool has_pushed = push_all();
    std::size_t queued = 0;
    for (const auto& [peer, out] : outgoing_) queued += out.messages.size();
    if (queued <= most_queued) return;
    const auto waiting =
        std::ranges::find_if(outgoing_, [](const auto& to_peer) { return !to_peer.second.messages.empty(); });
    const auto& [peer, out] = *waiting;
    const auto amounts = [&, &out = out] {
      return concat(" (", out.done, " of ", sizeof(Record) + out.payload_bytes(), " bytes sent)");
    };
    if (has_pushed && deadline.has_expired()) {
      throw TimeoutError(concat(memory_->name_of(peer), " did not take all data within ",
                                format_seconds(deadline.waited()), amounts()));
    }
    if (memory_->wait_for(
            peer, *waiter_, [this] { return has_room(); }, deadline))
      continue;
    throw TimeoutError(
        concat(memory_->name_of(peer), " took no data for ", format_seconds(deadline.waited()), amounts()));
  }
}

Traffic SharedMemoryTransport::sent() const noexcept {
  const std::uint64_t messages = messages_sent_;
  return {payload_bytes_sent_, messages * sizeof(Record), messages};
}

}  // namespace lockstep::comm
