#pragma once
/// @file
/// Launches with attributes: cudaLaunchKernelEx.
#include <cstddef>
#include <utility>

#include "export.h"
#include "kernel_pointer.h"
#include "launch.h"
#include "source_place.h"

/// Attributes of a launch. The emulator heeds cooperative launches, refuses clusters of several blocks, and ignores the
/// others.
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributeProgrammaticEvent = 7,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributePreferredSharedMemoryCarveout = 14,
};
/// The value of an attribute.
union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
  unsigned int sharedMemCarveout;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;      ///< Which.
  char pad[4];                   ///< Unused.
  cudaLaunchAttributeValue val;  ///< Its value.
};
/// The shape of a launch.
struct cudaLaunchConfig_t {
  dim3 gridDim;                  ///< Blocks.
  dim3 blockDim;                 ///< Threads of a block.
  std::size_t dynamicSmemBytes;  ///< Bytes of dynamic shared memory.
  cudaStream_t stream;           ///< Null: the default stream.
  cudaLaunchAttribute* attrs;    ///< May be null.
  unsigned int numAttrs;         ///< Of `attrs`.
};

namespace lockstep::emulator {

/// Reads the attributes. @return  cudaErrorNotSupported for clusters.
LOCKSTEP_EMULATOR_API cudaError_t read_config(const cudaLaunchConfig_t* config, LaunchShape& shape);

}  // namespace lockstep::emulator

/// Launches a kernel; the arguments are converted to its parameters.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  lockstep::emulator::LaunchShape shape;
  const cudaError_t error = lockstep::emulator::read_config(config, shape);
  if (error != cudaSuccess) return error;
  return lockstep::emulator::launch_kernel(nullptr, kernel, shape, {}, std::forward<Arguments>(arguments)...);
}
/// Launches a kernel by its address, with pointers to the arguments.
inline cudaError_t cudaLaunchKernelExC(
    const cudaLaunchConfig_t* config, const void* kernel, void** arguments,
    lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()) {
  lockstep::emulator::LaunchShape shape;
  cudaError_t error = lockstep::emulator::read_config(config, shape);
  if (error != cudaSuccess) return error;
  lockstep::emulator::KernelCall call;
  error = lockstep::emulator::call_of_pointer(kernel, arguments, call);
  if (error != cudaSuccess) return error;
  call.is_cooperative = shape.is_cooperative;
  return lockstep::emulator::launch_pointers(std::move(call), shape.grid, shape.block, shape.shared_bytes, shape.stream,
                                             place);
}

/// Does nothing in a kernel: kernels of a stream run one after another.
inline void cudaGridDependencySynchronize() {}
/// Does nothing in a kernel.
inline void cudaTriggerProgrammaticLaunchCompletion() {}
