#include "mine/ring_group.hpp"

#include <fcntl.h>
#include <poll.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"
#include "02_ring_all_reduce/2_all_gather/all_gather.hpp"
#include "base/error.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/reduce.hpp"
#include "net/guarded_listener.hpp"
#include "net/handshake.hpp"
#include "store/store.hpp"

namespace lockstep::mine {
namespace {

// Calls `expire` unless it is destroyed before.
class Timer {
 public:
  Timer(const Deadline& deadline, std::function<void()> expire)
      : thread_([this, deadline, expire = std::move(expire)](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          const auto limit = std::chrono::milliseconds(deadline.poll_timeout_ms());
          if (limit.count() < 0) return;
          changed_.wait_for(lock, stop, limit, [&] { return stop.stop_requested(); });
          if (!stop.stop_requested()) expire();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

// Links block, as the exercises have it; sockets of the library do not.
UniqueFd blocking_duplicate(const net::StreamSocket& socket) {
  UniqueFd fd(::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0));
  if (!fd.is_open()) throw IoError("duplicating a connection", errno);
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    throw IoError("making a connection block", errno);
  return fd;
}

net::StreamSocket accept_from(net::GuardedListener& listener, int rank, const Deadline& deadline) {
  while (!deadline.has_expired()) {
    for (net::AcceptedPeer& accepted : listener.advance())
      if (accepted.identity.rank == rank) return std::move(accepted.socket);
    std::vector<pollfd> entries;
    listener.append_poll_entries(entries);
    const auto slice = Deadline::after(std::chrono::milliseconds(100)).earliest(deadline);
    if (::poll(entries.data(), entries.size(), slice.poll_timeout_ms()) < 0 && errno != EINTR)
      throw IoError("poll", errno);
  }
  throw TimeoutError(concat("rank ", rank, " has not connected"));
}

}  // namespace

RingGroup::RingGroup(const comm::JobContext& context) : RingProcessGroup(context, {.small_bytes = 0}) {
  if (world_size() > 1) connect();
}

RingGroup::~RingGroup() { shutdown(); }

void RingGroup::connect() {
  const int next = ring::next_of(rank(), world_size()), previous = ring::previous_of(rank(), world_size());
  const auto deadline = Deadline::after(context().limits.join);
  const net::Identity identity{net::Role::kCollective, static_cast<std::uint32_t>(context().generation), rank(), 0};
  net::GuardedListener listener({context().bind_address, 0}, context().token, identity);
  const std::string key = concat("generation/", context().generation, "/mine/address/");
  context().store->set(concat(key, rank()), listener.address().text());
  std::exception_ptr error;
  {
    const std::jthread accepting([&] {
      try {
        previous_socket_ = accept_from(listener, previous, deadline);
      } catch (...) {
        error = std::current_exception();
      }
    });
    const auto address = net::SocketAddress::parse(
        comm::get_or_fail(context(), concat(key, next), concat("connecting to rank ", next), deadline));
    next_socket_ =
        net::connect_authenticated(address, context().token, identity, concat("rank ", next), deadline, deadline);
  }
  if (error) std::rethrow_exception(error);
  next_.emplace(blocking_duplicate(next_socket_), next, nullptr);
  previous_.emplace(blocking_duplicate(previous_socket_), previous, nullptr);
}

void RingGroup::run_all_reduce(const Call& call) {
  const bool is_theirs = uses_learners_ && world_size() > 1 && call.values.dtype == DType::kFloat32 &&
                         (call.op == comm::ReduceOp::kSum || call.op == comm::ReduceOp::kMean);
  if (!is_theirs) return RingProcessGroup::run_all_reduce(call);
  const std::span<float> values(static_cast<float*>(call.values.data), static_cast<std::size_t>(call.values.count));
  const ring::Neighbours place{rank(), world_size(), *next_, *previous_};
  const Timer timer(call.deadline, [this] { interrupt(); });
  try {
    ring::reduce_scatter(values, place);
    // Divided once, after it is complete: all ranks end with the same bits.
    const ring::Chunk done =
        ring::chunk_of(call.values.count, ring::finished_chunk_of(rank(), world_size()), world_size());
    comm::finish_mean(values.data() + done.begin, done.count, DType::kFloat32, call.op, world_size());
    ring::all_gather(values, place);
  } catch (const IoError&) {
    if (!call.deadline.has_expired()) throw;
    throw TimeoutError(concat("rank ", rank(), ": the ring of exercises 02.1 and 02.2 has not finished within ",
                              format_seconds(call.deadline.waited())));
  }
}

void RingGroup::interrupt() noexcept {
  RingProcessGroup::interrupt();
  next_socket_.shutdown();
  previous_socket_.shutdown();
}

}  // namespace lockstep::mine
