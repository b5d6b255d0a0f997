#include "emulator/cuda/lockstep_emulator/api_kernel.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "emulator/checker/control.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/cuda/lockstep_emulator/launch_config.h"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/execution.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/device_limits.hpp"
#include "emulator/runtime/faults.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/launch_log.hpp"
#include "emulator/runtime/reports.hpp"
#include "emulator/runtime/shared_variables.hpp"

namespace lockstep::emulator {
namespace {

// While one of these exists, device memory is open and the calling thread runs a kernel.
class OpenDeviceMemory {
 public:
  OpenDeviceMemory() {
    DeviceMemory::instance().allow_access();
    set_runs_kernels(true);
  }
  ~OpenDeviceMemory() {
    set_runs_kernels(false);
    DeviceMemory::instance().forbid_access();
  }
  OpenDeviceMemory(const OpenDeviceMemory&) = delete;
  OpenDeviceMemory& operator=(const OpenDeviceMemory&) = delete;
};

cudaError_t run_kernel(const KernelCall& call, int device) {
  const OpenDeviceMemory open;
  const KernelResult result = execute(call, device, &open_for_kernel, &shared_variables);
  if (result.is_ok) return cudaSuccess;
  const std::string where = to_text(call.place);
  std::cerr << concat("emulated device ", device, ": kernel ", call.name != nullptr ? call.name : "", " launched at ",
                      where.empty() ? "an unknown place" : where, " failed: ", result.message, "\n");
  return result.error != cudaSuccess ? result.error : cudaErrorLaunchFailure;
}

// In checked mode, because a program may overlook that its launch was refused.
void report_bad_launch(const KernelCall& call, const std::string& why) {
  if (!checks_enabled()) return;
  FindingSide side;
  side.action = "launch";
  side.place = {call.place.file == nullptr ? "" : call.place.file, call.place.line};
  side.is_in_kernel = false;
  Finding finding;
  finding.kind = FindingKind::kBadLaunch;
  finding.kernel = call.name != nullptr ? call.name : "";
  finding.sides = {side};
  finding.detail = why;
  report_finding(finding);
}

// How many times `part` fits into `whole`; unlimited if `part` is 0.
std::size_t fits(std::size_t whole, std::size_t part) {
  return part == 0 ? limits::kMultiprocessorBlocks : whole / part;
}

// Blocks of the kernel that one multiprocessor holds at a time; 0 if the launch is impossible.
std::size_t blocks_of_multiprocessor(const void* function, std::size_t threads, std::size_t shared_bytes) {
  if (threads > max_threads_per_block(function) || shared_bytes > max_dynamic_shared(function)) return 0;
  // Threads are allocated in warps, and CUDA reserves some shared memory of each block.
  const std::size_t warps = (threads + limits::kWarpThreads - 1) / limits::kWarpThreads;
  const std::size_t by_threads = fits(limits::kMultiprocessorThreads / limits::kWarpThreads, warps);
  const std::size_t by_shared = fits(limits::kSharedMultiprocessorBytes, shared_bytes + limits::kSharedReservedBytes);
  return std::min({by_threads, by_shared, std::size_t{limits::kMultiprocessorBlocks}});
}

// The blocks of a cooperative kernel must all be on the device at the same time.
void require_resident(const KernelCall& call) {
  const std::size_t blocks = std::size_t{call.grid.x} * call.grid.y * call.grid.z;
  const std::size_t threads = std::size_t{call.block.x} * call.block.y * call.block.z;
  const std::size_t most =
      limits::kMultiprocessors * blocks_of_multiprocessor(call.function, threads, call.shared_bytes);
  if (blocks <= most) return;
  const std::string why = concat("a cooperative launch of ", blocks, " blocks; the device holds ", most,
                                 " at a time (cudaOccupancyMaxActiveBlocksPerMultiprocessor)");
  report_bad_launch(call, why);
  throw ApiError{cudaErrorCooperativeLaunchTooLarge, why};
}

}  // namespace

cudaError_t enqueue_kernel(KernelCall call, cudaStream_t stream) {
  return api_call("kernel launch", ApiNeeds::kWorkingDevice, [&] {
    std::string why;
    const cudaError_t refused = check_launch(call, why);
    if (refused != cudaSuccess) {
      report_bad_launch(call, why);
      throw ApiError{refused, why};
    }
    if (call.is_cooperative) require_resident(call);
    const auto queue = Handles::instance().queue(stream);
    api_require(queue->device == current_device(), cudaErrorInvalidResourceHandle,
                "the stream is of another device than the current one: call cudaSetDevice first");
    if (checks_enabled()) note_launch(call, queue->kind == StreamKind::kLegacy);
    Operation launch;
    launch.name = call.name != nullptr ? call.name : "kernel launch";
    launch.place = call.place;
    launch.is_launch = true;
    launch.run = [shared = std::make_shared<const KernelCall>(std::move(call)), device = queue->device] {
      return run_kernel(*shared, device);
    };
    issue(queue, std::move(launch));
  });
}

cudaError_t read_config(const cudaLaunchConfig_t* config, LaunchShape& shape) {
  return api_call("cudaLaunchKernelEx", ApiNeeds::kWorkingDevice, [&] {
    api_require(config != nullptr && (config->attrs != nullptr || config->numAttrs == 0), cudaErrorInvalidValue,
                "the configuration or its attributes are null");
    shape = {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttribute& attribute = config->attrs[i];
      const auto& cluster = attribute.val.clusterDim;
      if (attribute.id == cudaLaunchAttributeCooperative) shape.is_cooperative = attribute.val.cooperative != 0;
      api_require(
          attribute.id != cudaLaunchAttributeClusterDimension || (cluster.x <= 1 && cluster.y <= 1 && cluster.z <= 1),
          cudaErrorNotSupported,
          "the emulator has no clusters of blocks: exchange data between blocks through global memory");
    }
  });
}

cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api_call("cudaFuncSetAttribute", ApiNeeds::kWorkingDevice, [&] {
    api_require(function != nullptr, cudaErrorInvalidDeviceFunction, "the kernel is null");
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return;
    api_require(attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0, cudaErrorInvalidValue,
                "the emulator does not know this attribute, or the value is negative");
    const cudaError_t error = set_max_dynamic_shared(function, static_cast<std::size_t>(value));
    api_require(error == cudaSuccess, error, "more dynamic shared memory than a block can have (227 KiB)");
  });
}

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function) {
  return api_call("cudaFuncGetAttributes", ApiNeeds::kWorkingDevice, [&] {
    api_require(attributes != nullptr, cudaErrorInvalidValue, "the pointer to the attributes is null");
    api_require(function != nullptr, cudaErrorInvalidDeviceFunction, "the kernel is null");
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(max_threads_per_block(function));
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(max_dynamic_shared(function));
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->preferredShmemCarveout = -1;
  });
}

int multiprocessors() noexcept { return limits::kMultiprocessors; }

cudaError_t occupancy(int* blocks, const void* function, int block_threads, size_t shared_bytes) {
  return api_call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", ApiNeeds::kWorkingDevice, [&] {
    api_require(blocks != nullptr && block_threads > 0, cudaErrorInvalidValue, "no result, or no threads");
    api_require(function != nullptr, cudaErrorInvalidDeviceFunction, "the kernel is null");
    *blocks =
        static_cast<int>(blocks_of_multiprocessor(function, static_cast<std::size_t>(block_threads), shared_bytes));
  });
}

}  // namespace lockstep::emulator
