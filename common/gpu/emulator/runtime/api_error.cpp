#include <array>

#include "emulator/cuda/lockstep_emulator/api_device.h"
#include "emulator/runtime/api_call.hpp"

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define LOCKSTEP_ERROR(name, text) \
  ErrorText { name, #name, text }

constexpr std::array kErrors{
    LOCKSTEP_ERROR(cudaSuccess, "no error"),
    LOCKSTEP_ERROR(cudaErrorInvalidValue, "an argument is out of range or of the wrong kind"),
    LOCKSTEP_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    LOCKSTEP_ERROR(cudaErrorInitializationError, "the device cannot be used by this process"),
    LOCKSTEP_ERROR(cudaErrorCudartUnloading, "the process is ending"),
    LOCKSTEP_ERROR(cudaErrorInvalidConfiguration, "the launch asks for an impossible grid or block"),
    LOCKSTEP_ERROR(cudaErrorInvalidPitchValue, "a pitch is smaller than a row"),
    LOCKSTEP_ERROR(cudaErrorInvalidSymbol, "no such device variable"),
    LOCKSTEP_ERROR(cudaErrorInvalidDevicePointer, "not an address of device memory"),
    LOCKSTEP_ERROR(cudaErrorInvalidMemcpyDirection, "an unknown direction of a copy"),
    LOCKSTEP_ERROR(cudaErrorInsufficientDriver, "the driver is older than the runtime"),
    LOCKSTEP_ERROR(cudaErrorInvalidDeviceFunction, "not a kernel of this program"),
    LOCKSTEP_ERROR(cudaErrorNoDevice, "no CUDA-capable device is visible"),
    LOCKSTEP_ERROR(cudaErrorInvalidDevice, "no device with this number"),
    LOCKSTEP_ERROR(cudaErrorInvalidResourceHandle, "not a live stream or event, or one of another device"),
    LOCKSTEP_ERROR(cudaErrorNotReady, "issued work is not done yet"),
    LOCKSTEP_ERROR(cudaErrorIllegalAddress, "a kernel used memory that is not its own"),
    LOCKSTEP_ERROR(cudaErrorLaunchOutOfResources, "the launch needs more than a multiprocessor has"),
    LOCKSTEP_ERROR(cudaErrorLaunchTimeout, "a kernel ran for too long"),
    LOCKSTEP_ERROR(cudaErrorPeerAccessAlreadyEnabled, "access to this device is enabled already"),
    LOCKSTEP_ERROR(cudaErrorPeerAccessNotEnabled, "access to this device is not enabled"),
    LOCKSTEP_ERROR(cudaErrorAssert, "an assertion of a kernel failed"),
    LOCKSTEP_ERROR(cudaErrorHostMemoryAlreadyRegistered, "a part of this memory is pinned already"),
    LOCKSTEP_ERROR(cudaErrorHostMemoryNotRegistered, "this memory is not registered"),
    LOCKSTEP_ERROR(cudaErrorHardwareStackError, "a kernel's stack is corrupt or too small"),
    LOCKSTEP_ERROR(cudaErrorIllegalInstruction, "a kernel ran an illegal instruction"),
    LOCKSTEP_ERROR(cudaErrorMisalignedAddress, "a kernel used an address that is not a multiple of its access"),
    LOCKSTEP_ERROR(cudaErrorInvalidAddressSpace, "a kernel used an address of another kind of memory"),
    LOCKSTEP_ERROR(cudaErrorInvalidPc, "a kernel jumped to an address that holds no code"),
    LOCKSTEP_ERROR(cudaErrorLaunchFailure, "a kernel failed; the device is unusable until cudaDeviceReset"),
    LOCKSTEP_ERROR(cudaErrorCooperativeLaunchTooLarge, "a cooperative launch has more blocks than the device holds"),
    LOCKSTEP_ERROR(cudaErrorNotPermitted, "not allowed here"),
    LOCKSTEP_ERROR(cudaErrorNotSupported, "not supported by the emulated device"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureUnsupported, "not allowed while the stream is captured"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureInvalidated, "an earlier error has invalidated the capture"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureMerge, "a stream of one capture waits for another capture"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureUnmatched, "the capture was not begun in this stream"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureUnjoined,
                   "a captured stream has work that the first stream does not wait for"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureIsolation, "a captured stream waits for work outside the capture"),
    LOCKSTEP_ERROR(cudaErrorStreamCaptureImplicit, "the default stream would wait for a captured stream"),
    LOCKSTEP_ERROR(cudaErrorCapturedEvent, "the event was recorded in a captured stream"),
    LOCKSTEP_ERROR(cudaErrorGraphExecUpdateFailure, "the graph has other operations than the executable one"),
    LOCKSTEP_ERROR(cudaErrorUnknown, "unknown error"),
};

#undef LOCKSTEP_ERROR

const ErrorText* find(cudaError_t code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* found = find(error);
  return found != nullptr ? found->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* found = find(error);
  return found != nullptr ? found->text : "unrecognized error code";
}

cudaError_t cudaGetLastError() { return lockstep::emulator::last_error(true); }
cudaError_t cudaPeekAtLastError() { return lockstep::emulator::last_error(false); }
