#pragma once
/// @file
/// Common wrapper for every function of the C API: turns errors into codes and remembers the last one.
#include <functional>
#include <string>
#include <utility>

#include "emulator/cuda/driver_types.h"

namespace lockstep::emulator {

/// Internal to the runtime; callers see `code`.
struct ApiError {
  cudaError_t code = cudaErrorUnknown;  ///< Returned to the program.
  std::string why;                      ///< Printed in checked mode; may be empty.
};

/// Throws ApiError unless `condition` holds.
inline void api_require(bool condition, cudaError_t code, const char* why) {
  if (!condition) throw ApiError{code, why};
}

/// Preconditions of an API function.
enum class ApiNeeds {
  kNothing,
  kDevice,         ///< There is a device; it may have failed.
  kWorkingDevice,  ///< The current device exists and has not failed.
};

/// Runs `body`, the work of the API function `name`, and returns its error code, which becomes the thread's last error.
cudaError_t api_call(const char* name, ApiNeeds needs, const std::function<void()>& body);

/// The calling thread's last error. @param forget  True: resets it to cudaSuccess.
cudaError_t last_error(bool forget);

/// The calling thread's device.
int current_device();
/// @throws ApiError  There is no such device.
void set_current_device(int device);
/// @throws ApiError  There is no such device.
void require_device(int device);
/// @throws ApiError  A kernel has failed on the device.
void throw_failure(int device);
/// Number of devices visible to the program.
int device_count();

}  // namespace lockstep::emulator
