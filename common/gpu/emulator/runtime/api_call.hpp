#pragma once
/// @file
/// What every function of the C API does around its own work: errors become codes, and the last one is remembered.
#include <functional>
#include <string>
#include <utility>

#include "emulator/cuda/driver_types.h"

namespace lockstep::emulator {

/// Thrown inside the runtime; leaves it as `code`.
struct ApiError {
  cudaError_t code = cudaErrorUnknown;  ///< What the program sees.
  std::string why;                      ///< What checked mode prints; may be empty.
};

/// Throws ApiError unless `condition` holds.
inline void api_require(bool condition, cudaError_t code, const char* why) {
  if (!condition) throw ApiError{code, why};
}

/// What a function of the API needs before it can begin.
enum class ApiNeeds {
  kNothing,        ///< Works everywhere.
  kDevice,         ///< There is a device; a failed one is no obstacle.
  kWorkingDevice,  ///< The current device has not failed.
};

/// Runs `body`, the work of the API function `name`, and returns its error code, which becomes the thread's last error.
cudaError_t api_call(const char* name, ApiNeeds needs, const std::function<void()>& body);

/// The calling thread's last error. @param forget  Whether it is cudaSuccess from then on.
cudaError_t last_error(bool forget);

/// The calling thread's device.
int current_device();
/// Sets it. @throws ApiError  There is no such device.
void set_current_device(int device);
/// @throws ApiError  There is no such device.
void require_device(int device);
/// @throws ApiError  A kernel failed on the device.
void throw_failure(int device);
/// Devices that the program sees.
int device_count();

}  // namespace lockstep::emulator
