#include <chrono>
#include <memory>
#include <utility>

#include "emulator/cuda/lockstep_emulator/api_stream.h"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace {

using namespace lockstep::emulator;

constexpr unsigned kKnownFlags = cudaEventBlockingSync | cudaEventDisableTiming;

void refuse_captured(const EventState& state) {
  api_require(!state.record->captured, cudaErrorCapturedEvent,
              "the event was last recorded in a captured stream, which ran nothing");
}

}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api_call("cudaEventCreateWithFlags", ApiNeeds::kWorkingDevice, [&] {
    api_require(event != nullptr, cudaErrorInvalidValue, "the pointer to the handle is null");
    api_require((flags & cudaEventInterprocess) == 0, cudaErrorNotSupported,
                "the emulator has no events between processes");
    api_require((flags & ~kKnownFlags) == 0, cudaErrorInvalidValue, "an unknown flag is set");
    *event = Handles::instance().add(EventState{flags, current_device(), nullptr});
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return api_call("cudaEventRecord", ApiNeeds::kWorkingDevice, [&] {
    api_require(flags == cudaEventRecordDefault, cudaErrorInvalidValue, "flags are cudaEventRecordDefault");
    const auto queue = Handles::instance().queue(stream);
    api_require(Handles::instance().event(event).device == queue->device, cudaErrorInvalidResourceHandle,
                "the event was created on another device than the stream: call cudaSetDevice first");
    auto record = std::make_shared<EventRecord>();
    if (is_captured(*queue)) {
      record->captured = mark_capture(*queue);
      return Handles::instance().set_record(event, std::move(record));
    }
    Operation stamp;
    stamp.name = "cudaEventRecord";
    stamp.runs_on_failed_device = true;
    stamp.run = [record] {
      record->when = std::chrono::steady_clock::now();
      return cudaSuccess;
    };
    record->point = issue(queue, std::move(stamp));
    Handles::instance().set_record(event, std::move(record));
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api_call("cudaEventQuery", ApiNeeds::kWorkingDevice, [&] {
    const EventState state = Handles::instance().event(event);
    if (!state.record) return;
    refuse_captured(state);
    refuse_unsafe_call();
    if (!Scheduler::instance().is_reached(state.record->point)) throw ApiError{cudaErrorNotReady, ""};
    throw_failure(state.device);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api_call("cudaEventSynchronize", ApiNeeds::kWorkingDevice, [&] {
    const EventState state = Handles::instance().event(event);
    if (!state.record) return;
    refuse_captured(state);
    refuse_unsafe_call();
    Scheduler::instance().wait(state.record->point);
    throw_failure(state.device);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api_call("cudaEventElapsedTime", ApiNeeds::kWorkingDevice, [&] {
    api_require(milliseconds != nullptr, cudaErrorInvalidValue, "the pointer to the time is null");
    const EventState from = Handles::instance().event(start);
    const EventState to = Handles::instance().event(end);
    api_require(((from.flags | to.flags) & cudaEventDisableTiming) == 0, cudaErrorInvalidResourceHandle,
                "an event was created with cudaEventDisableTiming");
    api_require(from.device == to.device, cudaErrorInvalidResourceHandle, "the events belong to two devices");
    api_require(from.record && to.record, cudaErrorInvalidResourceHandle, "an event was never recorded");
    for (const EventState& state : {from, to}) {
      refuse_captured(state);
      if (!Scheduler::instance().is_reached(state.record->point)) throw ApiError{cudaErrorNotReady, ""};
    }
    const std::chrono::duration<float, std::milli> elapsed = to.record->when - from.record->when;
    *milliseconds = elapsed.count();
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api_call("cudaEventDestroy", ApiNeeds::kDevice, [&] { Handles::instance().remove(event); });
}
