#include "emulator/runtime/api_call.hpp"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <iostream>
#include <new>

#include "emulator/engine/settings.hpp"
#include "emulator/runtime/host_threads.hpp"
#include "emulator/runtime/reports.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace lockstep::emulator {
namespace {

thread_local cudaError_t last = cudaSuccess;
thread_local int device_of_thread = 0;

std::atomic<bool> is_forked_child{false};

// A child process has no executor threads. CUDA C++ Programming Guide, "Initialization": use after fork is undefined
// there; here it is an error.
void watch_fork() {
  static const int kWatching = ::pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  static_cast<void>(kWatching);
}

void check_needs(ApiNeeds needs) {
  api_require(!are_calls_forbidden(), cudaErrorNotPermitted,
              "called from a host function of a stream, or by the destructor of a kernel's argument when the kernel is "
              "over: there CUDA allows no calls of its API");
  if (needs == ApiNeeds::kNothing) return;
  api_require(device_count() > 0, cudaErrorNoDevice,
              "there is no device (CUDA_VISIBLE_DEVICES, LOCKSTEP_EMULATOR_DEVICES)");
  watch_fork();
  api_require(!is_forked_child, cudaErrorInitializationError,
              "this process is a fork of one that uses the device; start it with exec, or fork before the first call");
  api_require(!Scheduler::instance().is_shut_down(), cudaErrorCudartUnloading, "the process is ending");
  if (needs == ApiNeeds::kDevice) return;
  throw_failure(device_of_thread);
}

cudaError_t run(const char* name, ApiNeeds needs, const std::function<void()>& body) {
  try {
    check_needs(needs);
    body();
    return cudaSuccess;
  } catch (const ApiError& error) {
    return error.why.empty() ? error.code : explain(error.code, name, error.why);
  } catch (const std::bad_alloc&) {
    return explain(cudaErrorMemoryAllocation, name, "the host has too little memory");
  } catch (const std::exception& error) {
    // A fault of the machine or the emulator, not of the program: reported in every mode.
    std::cerr << "emulated device: " << name << ": " << error.what() << "\n";
    return cudaErrorUnknown;
  }
}

}  // namespace

cudaError_t api_call(const char* name, ApiNeeds needs, const std::function<void()>& body) {
  const cudaError_t error = run(name, needs, body);
  if (error != cudaSuccess) last = error;
  return error;
}

cudaError_t last_error(bool forget) {
  const cudaError_t error = last;
  if (forget) last = cudaSuccess;
  if (device_count() == 0 || is_forked_child) return error;
  const cudaError_t failure = Scheduler::instance().failure(device_of_thread);
  return failure != cudaSuccess ? failure : error;
}

int device_count() { return static_cast<int>(settings().visible.size()); }

void require_device(int device) {
  api_require(device >= 0 && device < device_count(), cudaErrorInvalidDevice, "there is no device with this number");
}

void throw_failure(int device) {
  const cudaError_t failure = Scheduler::instance().failure(device);
  if (failure != cudaSuccess) throw ApiError{failure, ""};
}

int current_device() { return device_of_thread; }

void set_current_device(int device) {
  require_device(device);
  device_of_thread = device;
}

}  // namespace lockstep::emulator
