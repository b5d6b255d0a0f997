#include "emulator/cuda/lockstep_emulator/api_stream.h"

#include <algorithm>
#include <utility>

#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/device_limits.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace {

using namespace lockstep::emulator;

// The end of all work that the stream stands for: the legacy default stream includes the blocking ones.
Point end_of(cudaStream_t stream) {
  const auto queue = Handles::instance().queue(stream);
  refuse_in_capture(*queue);
  if (queue->kind != StreamKind::kLegacy) return Scheduler::instance().tail(queue);
  return Scheduler::instance().enqueue(queue, Operation{});
}

}  // namespace

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return api_call("cudaStreamCreateWithPriority", ApiNeeds::kWorkingDevice, [&] {
    api_require(stream != nullptr, cudaErrorInvalidValue, "the pointer to the handle is null");
    api_require(flags == cudaStreamDefault || flags == cudaStreamNonBlocking, cudaErrorInvalidValue,
                "flags are cudaStreamDefault or cudaStreamNonBlocking");
    const auto kind = flags == cudaStreamNonBlocking ? StreamKind::kNonBlocking : StreamKind::kBlocking;
    const int possible = std::clamp(priority, limits::kGreatestPriority, limits::kLeastPriority);
    *stream = Handles::instance().add(Scheduler::instance().open(current_device(), kind, possible));
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api_call("cudaStreamDestroy", ApiNeeds::kDevice, [&] {
    const auto queue = Handles::instance().remove(stream);
    abandon_capture(*queue);
    Scheduler::instance().close(queue);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return api_call("cudaStreamSynchronize", ApiNeeds::kWorkingDevice, [&] {
    const Point end = end_of(stream);
    Scheduler::instance().wait(end);
    throw_failure(end.queue ? end.queue->device : current_device());
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return api_call("cudaStreamQuery", ApiNeeds::kWorkingDevice, [&] {
    const auto queue = Handles::instance().queue(stream);
    refuse_in_capture(*queue);
    const Point end = Scheduler::instance().tail(queue);
    if (!Scheduler::instance().is_reached(end)) throw ApiError{cudaErrorNotReady, ""};
    throw_failure(end.queue->device);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags, SourcePlace place) {
  return api_call("cudaStreamWaitEvent", ApiNeeds::kWorkingDevice, [&] {
    api_require(flags == cudaEventWaitDefault, cudaErrorInvalidValue, "flags are cudaEventWaitDefault");
    const EventState state = Handles::instance().event(event);
    const auto queue = Handles::instance().queue(stream);
    if (state.record && state.record->captured) return join_capture(*queue, *state.record->captured);
    api_require(!state.record || !is_captured(*queue), cudaErrorStreamCaptureIsolation,
                "the stream is captured, and the event was recorded outside the capture");
    if (!state.record && (!settings().is_checked || is_captured(*queue))) return;
    Operation wait;
    wait.name = "cudaStreamWaitEvent";
    wait.place = place;
    wait.event = event;
    wait.is_empty_wait = !state.record;
    if (state.record) wait.waits.push_back(state.record->point);
    issue(queue, std::move(wait));
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return api_call("cudaStreamGetPriority", ApiNeeds::kDevice, [&] {
    api_require(priority != nullptr, cudaErrorInvalidValue, "the pointer to the priority is null");
    *priority = Handles::instance().queue(stream)->priority;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return api_call("cudaStreamGetFlags", ApiNeeds::kDevice, [&] {
    api_require(flags != nullptr, cudaErrorInvalidValue, "the pointer to the flags is null");
    const bool is_blocking = Handles::instance().queue(stream)->kind != StreamKind::kNonBlocking;
    *flags = is_blocking ? cudaStreamDefault : cudaStreamNonBlocking;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return api_call("cudaStreamGetDevice", ApiNeeds::kDevice, [&] {
    api_require(device != nullptr, cudaErrorInvalidValue, "the pointer to the device is null");
    *device = Handles::instance().queue(stream)->device;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  return api_call("cudaLaunchHostFunc", ApiNeeds::kWorkingDevice, [&] {
    api_require(function != nullptr, cudaErrorInvalidValue, "the function is null");
    Operation call;
    call.name = "cudaLaunchHostFunc";
    call.is_host_function = true;
    call.run = [function, user_data] {
      function(user_data);
      return cudaSuccess;
    };
    issue(Handles::instance().queue(stream), std::move(call));
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data,
                                  unsigned int flags) {
  return api_call("cudaStreamAddCallback", ApiNeeds::kWorkingDevice, [&] {
    api_require(callback != nullptr && flags == 0, cudaErrorInvalidValue, "the function is null, or flags are not 0");
    const auto queue = Handles::instance().queue(stream);
    refuse_in_capture(*queue);  // as in CUDA: a callback is for one call
    Operation call;
    call.name = "cudaStreamAddCallback";
    call.is_host_function = true;
    call.runs_on_failed_device = true;
    call.run = [=, device = queue->device] {
      callback(stream, Scheduler::instance().failure(device), user_data);
      return cudaSuccess;
    };
    issue(queue, std::move(call));
  });
}
