// Launches that CUDA refuses before a kernel runs.
#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/text.hpp"
#include "emulator/cuda/lockstep_emulator/qualifiers.h"
#include "emulator/engine/dynamic_shared.hpp"
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

namespace {

/// CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications".
constexpr dim3 kMaxGrid{2147483647U, 65535U, 65535U}, kMaxBlock{1024U, 1024U, 64U};
constexpr unsigned kMaxThreads = 1024;

#if defined(__aarch64__)
using Instruction = std::uint32_t;
constexpr Instruction kNop = 0xd503201f;
#else
using Instruction = std::uint8_t;
constexpr Instruction kNop = 0x90;
#endif

struct BoundsList {
  const std::uintptr_t* begin;
  const std::uintptr_t* end;
};

/// Kernel attributes declared by programs and their libraries.
struct KernelAttributes {
  std::mutex lock;
  std::vector<BoundsList> bounds;
  std::map<const void*, std::size_t> dynamic_shared;

  static KernelAttributes& instance() {
    static auto* const kInstance = new KernelAttributes;
    return *kInstance;
  }
};

bool is_within(const dim3& extents, const dim3& most) {
  const bool is_empty = extents.x == 0 || extents.y == 0 || extents.z == 0;
  return !is_empty && extents.x <= most.x && extents.y <= most.y && extents.z <= most.z;
}

std::string extents_text(const dim3& extents) { return concat("(", extents.x, ",", extents.y, ",", extents.z, ")"); }

}  // namespace

bool register_launch_bounds(const std::uintptr_t* begin, const std::uintptr_t* end) {
  if (begin == end) return false;
  KernelAttributes& attributes = KernelAttributes::instance();
  const std::lock_guard lock(attributes.lock);
  for (const BoundsList& list : attributes.bounds) {
    if (list.begin == begin) return true;
  }
  attributes.bounds.push_back({begin, end});
  return true;
}

/// A kernel with a bound is preceded by as many nops, and a list holds the nops' start addresses. The kernel's entry is
/// the one shortly before it from which only nops follow.
unsigned max_threads_per_block(const void* function) {
  KernelAttributes& attributes = KernelAttributes::instance();
  const std::lock_guard lock(attributes.lock);
  const auto entry = reinterpret_cast<std::uintptr_t>(function);
  unsigned bound = kMaxThreads;
  for (const BoundsList& list : attributes.bounds) {
    for (const std::uintptr_t* nops = list.begin; nops != list.end; ++nops) {
      const std::uintptr_t count = (entry - *nops) / sizeof(Instruction);
      if (*nops >= entry || count > kMaxThreads) continue;
      const auto* first = reinterpret_cast<const Instruction*>(*nops);
      if (std::all_of(first, first + count, [](Instruction each) { return each == kNop; })) {
        bound = std::min(bound, static_cast<unsigned>(count));
      }
    }
  }
  return bound;
}

cudaError_t set_max_dynamic_shared(const void* function, std::size_t bytes) {
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  if (bytes > kMaxDynamicShared) return cudaErrorInvalidValue;
  KernelAttributes& attributes = KernelAttributes::instance();
  const std::lock_guard lock(attributes.lock);
  attributes.dynamic_shared[function] = bytes;
  return cudaSuccess;
}

std::size_t max_dynamic_shared(const void* function) {
  KernelAttributes& attributes = KernelAttributes::instance();
  const std::lock_guard lock(attributes.lock);
  const auto found = attributes.dynamic_shared.find(function);
  return found == attributes.dynamic_shared.end() ? kDefaultDynamicShared : found->second;
}

cudaError_t check_launch(const KernelCall& call, std::string& message) {
  if (!is_within(call.grid, kMaxGrid)) {
    message = concat("a grid of ", extents_text(call.grid), " blocks; each extent is at least 1 and at most ",
                     extents_text(kMaxGrid));
    return cudaErrorInvalidConfiguration;
  }
  const std::uint64_t threads = std::uint64_t{call.block.x} * call.block.y * call.block.z;
  if (!is_within(call.block, kMaxBlock) || threads > kMaxThreads) {
    message = concat("a block of ", extents_text(call.block), " threads; each extent is at least 1 and at most ",
                     extents_text(kMaxBlock), ", and their product at most ", kMaxThreads);
    return cudaErrorInvalidConfiguration;
  }
  if (const unsigned bound = max_threads_per_block(call.function); threads > bound) {
    message = concat("a block of ", threads, " threads; the kernel's __launch_bounds__ promises at most ", bound);
    return cudaErrorLaunchOutOfResources;
  }
  if (const std::size_t most = max_dynamic_shared(call.function); call.shared_bytes > most) {
    message = concat(call.shared_bytes, " bytes of dynamic shared memory; this kernel may have ", most,
                     " (cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize raises it up to ",
                     kMaxDynamicShared, ")");
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

}  // namespace lockstep::emulator
