#include "emulator/cuda/lockstep_emulator/api_kernel.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "emulator/checker/control.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/execution.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/device_limits.hpp"
#include "emulator/runtime/faults.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/launch_log.hpp"
#include "emulator/runtime/reports.hpp"
#include "emulator/runtime/scheduler.hpp"

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
  const KernelResult result = execute(call, device, &open_for_kernel);
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

}  // namespace

cudaError_t enqueue_kernel(KernelCall call, cudaStream_t stream) {
  return api_call("kernel launch", ApiNeeds::kWorkingDevice, [&] {
    std::string why;
    const cudaError_t refused = check_launch(call, why);
    if (refused != cudaSuccess) {
      report_bad_launch(call, why);
      throw ApiError{refused, why};
    }
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
    Scheduler::instance().enqueue(queue, std::move(launch));
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

cudaError_t occupancy(int* blocks, const void* function, int block_threads, size_t shared_bytes) {
  return api_call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", ApiNeeds::kWorkingDevice, [&] {
    api_require(blocks != nullptr && block_threads > 0, cudaErrorInvalidValue, "no result, or no threads");
    api_require(function != nullptr, cudaErrorInvalidDeviceFunction, "the kernel is null");
    const auto threads = static_cast<std::size_t>(block_threads);
    const bool is_possible = threads <= max_threads_per_block(function) && shared_bytes <= max_dynamic_shared(function);
    // Threads are allocated in warps, and CUDA reserves some shared memory of each block.
    const std::size_t warps = (threads + limits::kWarpThreads - 1) / limits::kWarpThreads;
    const std::size_t by_threads = fits(limits::kMultiprocessorThreads / limits::kWarpThreads, warps);
    const std::size_t by_shared = fits(limits::kSharedMultiprocessorBytes, shared_bytes + limits::kSharedReservedBytes);
    const std::size_t most = std::min({by_threads, by_shared, std::size_t{limits::kMultiprocessorBlocks}});
    *blocks = is_possible ? static_cast<int>(most) : 0;
  });
}

}  // namespace lockstep::emulator
