#include "device/stream.hpp"

#include <atomic>
#include <map>

#include "base/error.hpp"
#include "device/cuda_check.hpp"
#include "device/device_allocator.hpp"

namespace lockstep {

namespace {

// A stream or event belongs to its device, whichever device is current when it is used.
void require_same(Device ours, Device theirs, std::string_view what) {
  require(ours == theirs, what, ": one is on ", ours.name(), ", the other on ", theirs.name());
}

// The answer of a query; "not ready" is a valid one.
bool is_done(cudaError_t status, std::string_view doing) {
  if (status == cudaErrorNotReady) return false;
  cuda_check(status, doing);
  return true;
}

// The stream of each device that a guard has made current; null: the device's default.
const Stream*& chosen_stream(int device) {
  thread_local std::map<int, const Stream*> chosen;
  return chosen[device];
}

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{Stream::kDefaultId};
  return ++last;
}

}  // namespace

Stream::Stream(Device device) : device_(device) {
  device.require_available();
  if (device.is_cpu()) return;
  make_current(device);
  cuda_check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "making a stream");
  id_ = next_id();
}

Stream::~Stream() {
  if (handle_ == nullptr) return;
  DeviceAllocator::stream_ends(*this);
  cuda_log(cudaStreamDestroy(handle_), "ending a stream");
}

void Stream::synchronize() const {
  if (device_.is_cpu()) return;
  make_current(device_);
  cuda_check(cudaStreamSynchronize(handle_), "waiting for a stream");
}

bool Stream::is_idle() const {
  if (device_.is_cpu()) return true;
  make_current(device_);
  return is_done(cudaStreamQuery(handle_), "asking for a stream's end");
}

void Stream::wait(const Event& event) const {
  if (device_.is_cpu() || event.handle() == nullptr) return;
  make_current(device_);
  cuda_check(cudaStreamWaitEvent(handle_, event.handle(), 0), "making a stream wait");
}

void Stream::wait(const Stream& other) const {
  if (other.device().is_cpu() || (device_ == other.device() && handle_ == other.handle())) return;
  Event event(other.device());
  event.record(other);
  wait(event);  // CUDA keeps a destroyed event until no stream waits for it
}

Event::Event(Device device, Timing timing) : device_(device) {
  device.require_available();
  if (device.is_cpu()) return;
  make_current(device);
  const unsigned flags = timing == Timing::kTimed ? cudaEventDefault : cudaEventDisableTiming;
  cuda_check(cudaEventCreateWithFlags(&handle_, flags), "making an event");
}

Event::~Event() {
  if (handle_ != nullptr) cuda_log(cudaEventDestroy(handle_), "ending an event");
}

void Event::record(const Stream& stream) {
  require_same(device_, stream.device(), "recording an event");
  if (device_.is_cpu()) return;
  make_current(device_);
  cuda_check(cudaEventRecord(handle_, stream.handle()), "recording an event");
}

// CUDA accepts an event of any device, but reports the current device's error and, if that device has no context,
// creates one (some hundred MiB). The thread that polls an event may not be the one that chose its device.
bool Event::is_complete() const {
  if (device_.is_cpu()) return true;
  make_current(device_);
  return is_done(cudaEventQuery(handle_), "asking whether an event is over");
}

void Event::synchronize() const {
  if (device_.is_cpu()) return;
  make_current(device_);
  cuda_check(cudaEventSynchronize(handle_), "waiting for an event");
}

double Event::milliseconds_since(const Event& begin) const {
  require_same(device_, begin.device_, "the time between two events");
  require(!device_.is_cpu(), "events on the CPU take no time");
  make_current(device_);
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "reading the time between two events");
  return static_cast<double>(milliseconds);
}

const Stream& current_stream(Device device) {
  thread_local std::map<std::pair<DeviceType, int>, Stream> defaults;
  if (const Stream* const chosen = device.is_cpu() ? nullptr : chosen_stream(device.index)) return *chosen;
  return defaults.try_emplace({device.type, device.index}, Stream::default_of(device)).first->second;
}

StreamGuard::StreamGuard(const Stream& stream)
    : device_(stream.device()), outer_(device_.is_cpu() ? nullptr : chosen_stream(device_.index)) {
  if (!device_.is_cpu()) chosen_stream(device_.index) = &stream;
}

StreamGuard::~StreamGuard() {
  if (!device_.is_cpu()) chosen_stream(device_.index) = outer_;
}

}  // namespace lockstep
