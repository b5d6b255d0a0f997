#include "comm_gloo/gloo_connection.hpp"

#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/get_or_fail.hpp"
#include "store/prefix_store.hpp"

namespace lockstep::gloo_backend {

namespace transport = ::gloo::transport;
using std::chrono::milliseconds;

namespace {

sigset_t pipe_signal() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  return signals;
}

// Gloo's timeouts are in milliseconds, and zero means expired.
milliseconds time_left(const Deadline& deadline) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24);  // for a deadline that never comes
  return std::chrono::ceil<milliseconds>(
      std::clamp<std::chrono::nanoseconds>(deadline.remaining(), milliseconds(1), kLongest));
}

}  // namespace

PipeSignalBlocked::PipeSignalBlocked() noexcept {
  const sigset_t signals = pipe_signal();
  sigset_t before;
  sigemptyset(&before);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

PipeSignalBlocked::~PipeSignalBlocked() {
  if (was_blocked_) return;
  const sigset_t signals = pipe_signal();
  constexpr timespec kAtOnce{};
  while (sigtimedwait(&signals, nullptr, &kAtOnce) > 0) {  // discards signals that arrived while blocked
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

// All buffers that a group's collectives wait for. One thread runs collectives; interrupt() may come from any.
class BufferWatch {
 public:
  void add(transport::UnboundBuffer* buffer) {
    const std::scoped_lock lock(mutex_);
    buffers_.insert(buffer);
  }
  void remove(transport::UnboundBuffer* buffer) {
    const std::scoped_lock lock(mutex_);
    buffers_.erase(buffer);
  }

  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  // Calls `wait_for` with the remaining time. Throws if the group was interrupted.
  template <typename Wait>
  bool wait(Wait wait_for) {
    throw_if_interrupted();
    wait_for(time_left(deadline_));
    throw_if_interrupted();
    return true;
  }

  void throw_if_interrupted() const {
    if (is_interrupted_) throw ::gloo::IoException("the group has failed");
  }

  void interrupt() noexcept {
    is_interrupted_ = true;
    const std::scoped_lock lock(mutex_);
    for (transport::UnboundBuffer* buffer : buffers_) {
      buffer->abortWaitSend();
      buffer->abortWaitRecv();
    }
  }

 private:
  std::mutex mutex_;
  std::set<transport::UnboundBuffer*> buffers_;
  std::atomic<bool> is_interrupted_{false};
  Deadline deadline_ = Deadline::never();
};

namespace {

class WatchedBuffer final : public transport::UnboundBuffer {
 public:
  WatchedBuffer(std::unique_ptr<transport::UnboundBuffer> buffer, std::shared_ptr<BufferWatch> watch)
      : transport::UnboundBuffer(buffer->ptr, buffer->size), buffer_(std::move(buffer)), watch_(std::move(watch)) {
    watch_->add(buffer_.get());
  }
  ~WatchedBuffer() override { watch_->remove(buffer_.get()); }
  WatchedBuffer(const WatchedBuffer&) = delete;
  WatchedBuffer& operator=(const WatchedBuffer&) = delete;

  // Gloo's own timeout; the watch's deadline covers the whole collective.
  bool waitRecv(int* rank, milliseconds) override {
    return watch_->wait([&](milliseconds limit) { return buffer_->waitRecv(rank, limit); });
  }
  bool waitSend(int* rank, milliseconds) override {
    return watch_->wait([&](milliseconds limit) { return buffer_->waitSend(rank, limit); });
  }
  void abortWaitRecv() override { buffer_->abortWaitRecv(); }
  void abortWaitSend() override { buffer_->abortWaitSend(); }

  void send(int peer, uint64_t slot, size_t offset, size_t bytes) override { buffer_->send(peer, slot, offset, bytes); }
  void recv(int peer, uint64_t slot, size_t offset, size_t bytes) override { buffer_->recv(peer, slot, offset, bytes); }
  void recv(std::vector<int> peers, uint64_t slot, size_t offset, size_t bytes) override {
    buffer_->recv(std::move(peers), slot, offset, bytes);
  }

 private:
  std::unique_ptr<transport::UnboundBuffer> buffer_;
  std::shared_ptr<BufferWatch> watch_;
};

// Another transport context's connections, with watched buffers.
class WatchedTransport final : public transport::Context {
 public:
  WatchedTransport(std::shared_ptr<transport::Context> inner, std::shared_ptr<BufferWatch> watch)
      : transport::Context(inner->rank, inner->size), inner_(std::move(inner)), watch_(std::move(watch)) {}

  std::unique_ptr<transport::Pair>& getPair(int peer) override { return inner_->getPair(peer); }
  std::unique_ptr<transport::Pair>& createPair(int peer) override { return inner_->createPair(peer); }
  std::unique_ptr<transport::UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override {
    return std::make_unique<WatchedBuffer>(inner_->createUnboundBuffer(data, bytes), watch_);
  }

 private:
  std::shared_ptr<transport::Context> inner_;
  std::shared_ptr<BufferWatch> watch_;
};

class WatchedContext final : public ::gloo::rendezvous::Context {
 public:
  using ::gloo::rendezvous::Context::Context;

  void watch(const std::shared_ptr<BufferWatch>& watch) {
    transportContext_ = std::make_shared<WatchedTransport>(std::move(transportContext_), watch);
  }
};

// The place for a group's addresses: a part of the job's store.
class AddressStore final : public ::gloo::rendezvous::Store {
 public:
  AddressStore(const comm::JobContext& context, const std::string& group, const Deadline& deadline)
      : context_(context), deadline_(deadline) {
    context_.store =
        std::make_shared<store::PrefixStore>(concat("generation/", context.generation, "/", group), context.store);
  }

  void set(const std::string& key, const std::vector<char>& data) override {
    context_.store->set(key, std::string(data.begin(), data.end()));
  }

  std::vector<char> get(const std::string& key) override {
    const std::string task = concat("rank ", context_.global_rank(context_.rank),
                                    ": connecting a group with Gloo, whose rank ", key, " has to make it too");
    const std::string value = comm::get_or_fail(context_, key, task, deadline_);
    return {value.begin(), value.end()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) (void)get(key);
  }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

 private:
  comm::JobContext context_;  // its store: the group's part
  Deadline deadline_;
};

// Versions of Gloo differ in how they take the store.
template <typename Context>
void connect_all(Context& context, const std::shared_ptr<AddressStore>& store,
                 std::shared_ptr<transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(*store, device); })
    context.connectFullMesh(*store, device);
  else
    context.connectFullMesh(store, device);
}

}  // namespace

Connection::Connection(const comm::JobContext& context, const std::string& group)
    : watch_(std::make_shared<BufferWatch>()) {
  require(context.bind_address != "0.0.0.0" && context.bind_address != "::", "Gloo tells its peers the bind address, ",
          "which is that of all interfaces, ", context.bind_address, ": set LOCKSTEP_BIND_ADDRESS to one of this host");
  const PipeSignalBlocked is_blocked;  // also in Gloo's thread, which starts here
  const auto deadline = Deadline::after(context.limits.join);
  try {
    transport::tcp::attr attributes(context.bind_address.c_str());
    std::shared_ptr<transport::Device> device = transport::tcp::CreateDevice(attributes);
    const auto connected = std::make_shared<WatchedContext>(context.rank, context.world_size);
    connected->setTimeout(time_left(deadline));
    connect_all(*connected, std::make_shared<AddressStore>(context, group, deadline), device);
    connected->watch(watch_);
    context_ = connected;
  } catch (const ::gloo::Exception& error) {
    throw IoError(concat("Gloo cannot connect the ranks of a group at ", context.bind_address, ": ", error.what()));
  } catch (const ::gloo::EnforceNotMet& error) {
    throw IoError(concat("Gloo cannot connect the ranks of a group at ", context.bind_address, ": ", error.what()));
  }
}

const std::shared_ptr<::gloo::Context>& Connection::begin(const Deadline& deadline) {
  watch_->throw_if_interrupted();
  watch_->set_deadline(deadline);
  return context_;
}

void Connection::interrupt() noexcept { watch_->interrupt(); }

}  // namespace lockstep::gloo_backend
