#include "emulated_nccl/communicator.hpp"

#include <utility>

#include "base/error.hpp"
#include "emulated_nccl/failure.hpp"

namespace lockstep::emulated_nccl {

std::string Communicator::message() const {
  const std::scoped_lock lock(mutex_);
  return message_;
}

ncclResult_t Communicator::status() const {
  const std::scoped_lock lock(mutex_);
  return status_locked();
}

ncclResult_t Communicator::status_locked() const noexcept {
  if (failure_ != ncclSuccess) return failure_;
  return in_progress_ > 0 ? ncclInProgress : ncclSuccess;
}

void Communicator::require_ready() const {
  const std::scoped_lock lock(mutex_);
  nccl_require(failure_ == ncclSuccess, failure_, "the communicator has failed: ", message_);
  nccl_require(in_progress_ == 0, ncclInvalidArgument,
               "the communicator's last call is still in progress: ask ncclCommGetAsyncError() until it is done");
}

void Communicator::require_open() const {
  require_ready();
  const std::scoped_lock lock(mutex_);
  nccl_require(!is_finalized_, ncclInvalidUsage, "the communicator is finalized");
}

bool Communicator::is_aborted() const {
  const std::scoped_lock lock(mutex_);
  return is_aborted_;
}

ncclResult_t Communicator::perform(const char* call, std::function<void()> job) {
  if (is_blocking_) {
    job();
    return ncclSuccess;
  }
  {
    const std::scoped_lock lock(mutex_);
    ++in_progress_;
  }
  jobs_.post([this, call, job = std::move(job)] {
    try {
      job();
    } catch (const std::exception& error) {
      fail(remember_exception(call), error.what());
    }
    const std::scoped_lock lock(mutex_);
    --in_progress_;
    changed_.notify_all();
  });
  return ncclInProgress;
}

void Communicator::fail(ncclResult_t code, const std::string& text) noexcept {
  const std::scoped_lock lock(mutex_);
  if (failure_ != ncclSuccess) return;
  failure_ = code;
  message_ = text;
}

void Communicator::begin_joining() noexcept {
  const std::scoped_lock lock(mutex_);
  ++in_progress_;
}

void Communicator::join(const std::function<Membership()>& find_place, const ShouldStop& should_stop) noexcept {
  std::unique_ptr<Mesh> mesh;
  try {
    own_ = find_place();
    mesh = meet(own_, [&] { return is_aborted() || should_stop(); });
  } catch (const std::exception& error) {
    fail(remember_exception("joining a communicator"), error.what());
  }
  const std::scoped_lock lock(mutex_);
  mesh_ = std::move(mesh);
  --in_progress_;
  changed_.notify_all();
}

std::uint64_t Communicator::draw_number() {
  const std::scoped_lock lock(mutex_);
  return drawn_++;
}

void Communicator::give_back_number() noexcept {
  const std::scoped_lock lock(mutex_);
  --drawn_;
}

void Communicator::run(std::uint64_t number, std::span<const HostOperation> operations) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_aborted_ || done_ == number; });
  if (is_aborted_) return;
  ++running_;
  lock.unlock();
  exchange_or_hang(operations);
  lock.lock();
  --running_;
  ++done_;
  changed_.notify_all();
}

void Communicator::exchange_or_hang(std::span<const HostOperation> operations) noexcept {
  try {
    return exchange(*mesh_, operations);
  } catch (const IoError& error) {
    if (!is_aborted()) fail(remember_exception("a peer is gone"), error.what());
  } catch (const std::exception&) {
    // Sizes do not match. NCCL does not notice that.
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_aborted_; });
}

void Communicator::refuse_more() noexcept {
  const std::scoped_lock lock(mutex_);
  is_finalized_ = true;
}

void Communicator::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_aborted_ || done_ == drawn_; });
}

void Communicator::abort() noexcept {
  std::unique_lock lock(mutex_);
  is_aborted_ = true;
  jobs_.cancel();
  if (mesh_) mesh_->interrupt();
  changed_.notify_all();
  changed_.wait(lock, [this] { return running_ == 0; });
  lock.unlock();
  jobs_.close();
  lock.lock();
  mesh_.reset();  // closes the connections, so that the other ranks notice
}

}  // namespace lockstep::emulated_nccl
