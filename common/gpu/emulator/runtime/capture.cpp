#include "emulator/runtime/capture.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace lockstep::emulator {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

struct Member {
  StreamKind kind = StreamKind::kBlocking;
  std::size_t recorded = 0;  // position after its last operation
  std::size_t joined = 0;    // position up to which another stream of the capture waits for it
};

struct Capture {
  std::uint64_t number = 0;
  int device = 0;
  StreamId origin = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread{};  // that began it
  bool is_invalid = false;
  std::map<StreamId, Member> members;
  RecordedOperations operations;
};

struct Captures {
  std::mutex mutex;
  std::atomic<int> active{0};  // lets calls outside captures skip the lock
  std::uint64_t last = 0;
  std::vector<Capture> all;

  Capture* of(StreamId stream) {
    const auto found = std::ranges::find_if(all, [&](const Capture& each) { return each.members.contains(stream); });
    return found == all.end() ? nullptr : &*found;
  }
  template <typename Condition>
  void drop_if(const Condition& condition) {
    const std::scoped_lock lock(mutex);
    active -= static_cast<int>(std::erase_if(all, condition));
  }
};

Captures& captures() {
  static auto* const kCaptures = new Captures;  // NOLINT: never destroyed, for calls of other threads at exit
  return *kCaptures;
}

// The capture of a stream that there must be one of.
Capture& capture_of(StreamId stream) {
  Capture* const found = captures().of(stream);
  api_require(found != nullptr, cudaErrorStreamCaptureUnmatched, "the stream is not captured");
  return *found;
}

void require_valid(const Capture& capture) {
  api_require(!capture.is_invalid, cudaErrorStreamCaptureInvalidated, "an earlier error has invalidated the capture");
}

// A capture that the default stream would wait for: it waits for blocking streams. Null for other streams.
Capture* implicitly_awaited(const StreamQueue& queue) {
  if (queue.kind != StreamKind::kLegacy) return nullptr;
  const auto found = std::ranges::find_if(captures().all, [&](const Capture& capture) {
    return capture.device == queue.device && std::ranges::any_of(capture.members, [](const auto& member) {
             return member.second.kind == StreamKind::kBlocking;
           });
  });
  return found == captures().all.end() ? nullptr : &*found;
}

constexpr const char* kImplicitWait = "the default stream would wait for a stream that is captured: use another stream";

void refuse_implicit_wait(const StreamQueue& queue) {
  Capture* const awaited = implicitly_awaited(queue);
  if (awaited == nullptr) return;
  awaited->is_invalid = true;
  throw ApiError{cudaErrorStreamCaptureImplicit, kImplicitWait};
}

}  // namespace

Point issue(const std::shared_ptr<StreamQueue>& queue, Operation operation) {
  if (captures().active.load() > 0) {
    const std::scoped_lock lock(captures().mutex);
    refuse_implicit_wait(*queue);
    if (Capture* const capture = captures().of(queue->id)) {
      require_valid(*capture);
      capture->operations.push_back(std::move(operation));
      capture->members.at(queue->id).recorded = capture->operations.size();
      return {};
    }
  }
  return Scheduler::instance().enqueue(queue, std::move(operation));
}

void begin_capture(const StreamQueue& queue, cudaStreamCaptureMode mode) {
  api_require(queue.kind != StreamKind::kLegacy, cudaErrorStreamCaptureUnsupported,
              "the default stream cannot be captured: use one of cudaStreamCreate");
  const std::scoped_lock lock(captures().mutex);
  api_require(captures().of(queue.id) == nullptr, cudaErrorInvalidValue, "the stream is captured already");
  Capture capture;
  capture.number = ++captures().last;
  capture.device = queue.device;
  capture.origin = queue.id;
  capture.mode = mode;
  capture.thread = std::this_thread::get_id();
  capture.members[queue.id].kind = queue.kind;
  captures().all.push_back(std::move(capture));
  ++captures().active;
}

RecordedOperations end_capture(const StreamQueue& queue) {
  const std::scoped_lock lock(captures().mutex);
  Capture ended = capture_of(queue.id);
  api_require(ended.origin == queue.id, cudaErrorStreamCaptureUnmatched, "the capture was begun in another stream");
  std::erase_if(captures().all, [&](const Capture& each) { return each.number == ended.number; });
  --captures().active;
  require_valid(ended);
  for (const auto& [stream, member] : ended.members) {
    api_require(stream == ended.origin || member.joined >= member.recorded, cudaErrorStreamCaptureUnjoined,
                "a stream that joined the capture has work that the first stream does not wait for: record an event in "
                "it, and let the first stream wait for it");
  }
  return std::move(ended.operations);
}

void abandon_capture(const StreamQueue& queue) {
  captures().drop_if([&](const Capture& each) { return each.origin == queue.id; });
}

void abandon_captures(int device) {
  captures().drop_if([&](const Capture& each) { return each.device == device; });
}

bool is_captured(const StreamQueue& queue) {
  if (captures().active.load() == 0) return false;
  const std::scoped_lock lock(captures().mutex);
  return captures().of(queue.id) != nullptr;
}

cudaStreamCaptureStatus capture_status(const StreamQueue& queue) {
  const std::scoped_lock lock(captures().mutex);
  api_require(implicitly_awaited(queue) == nullptr, cudaErrorStreamCaptureImplicit, kImplicitWait);
  const Capture* const capture = captures().of(queue.id);
  if (capture == nullptr) return cudaStreamCaptureStatusNone;
  return capture->is_invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

CaptureMark mark_capture(const StreamQueue& queue) {
  const std::scoped_lock lock(captures().mutex);
  const Capture& capture = capture_of(queue.id);
  return {capture.number, queue.id, capture.operations.size()};
}

void join_capture(const StreamQueue& queue, const CaptureMark& mark) {
  const std::scoped_lock lock(captures().mutex);
  const auto found =
      std::ranges::find_if(captures().all, [&](const Capture& each) { return each.number == mark.capture; });
  api_require(found != captures().all.end(), cudaErrorStreamCaptureIsolation,
              "the event was recorded in a capture that has ended: record it again");
  const Capture* const own = captures().of(queue.id);
  api_require(own == nullptr || own == &*found, cudaErrorStreamCaptureMerge,
              "the stream belongs to another capture than the event");
  api_require(queue.kind != StreamKind::kLegacy, cudaErrorStreamCaptureImplicit,
              "the default stream cannot take part in a capture: use one of cudaStreamCreate");
  found->members[queue.id].kind = queue.kind;
  Member& waited_for = found->members.at(mark.stream);
  waited_for.joined = std::max(waited_for.joined, mark.position);
  if (queue.id != found->origin) {  // what it has waited for must be joined too
    Member& waiting = found->members.at(queue.id);
    waiting.recorded = std::max(waiting.recorded, mark.position);
  }
}

void refuse_in_capture(const StreamQueue& queue) {
  if (captures().active.load() == 0) return;
  const std::scoped_lock lock(captures().mutex);
  refuse_implicit_wait(queue);
  Capture* const capture = captures().of(queue.id);
  if (capture == nullptr) return;
  capture->is_invalid = true;
  throw ApiError{cudaErrorStreamCaptureUnsupported,
                 "the stream is captured: nothing of it runs before the graph is launched"};
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

// CUDA Runtime API, cudaThreadExchangeStreamCaptureMode: a capture that is not relaxed forbids it to its own thread, a
// global one to all threads. A thread whose own mode is not global cares less.
void refuse_unsafe_call() {
  if (captures().active.load() == 0 || thread_mode == cudaStreamCaptureModeRelaxed) return;
  const std::scoped_lock lock(captures().mutex);
  bool is_refused = false;
  for (Capture& capture : captures().all) {
    const bool is_own = capture.thread == std::this_thread::get_id();
    const bool is_global = capture.mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal;
    if (capture.mode == cudaStreamCaptureModeRelaxed || (!is_own && !is_global)) continue;
    capture.is_invalid = is_refused = true;
  }
  api_require(
      !is_refused, cudaErrorStreamCaptureUnsupported,
      "a stream is captured, and this call is no part of the graph: call it before cudaStreamBeginCapture or after "
      "cudaStreamEndCapture (for cudaMalloc and cudaFree there are cudaMallocAsync and cudaFreeAsync, in the "
      "captured stream), or capture with cudaStreamCaptureModeRelaxed");
}

void refuse_in_captures(int device) {
  if (captures().active.load() == 0) return;
  const std::scoped_lock lock(captures().mutex);
  for (Capture& capture : captures().all) {
    if (capture.device != device) continue;
    capture.is_invalid = true;
    throw ApiError{cudaErrorStreamCaptureUnsupported,
                   "a stream of the device is captured: end the capture before waiting for the device"};
  }
}

}  // namespace lockstep::emulator
