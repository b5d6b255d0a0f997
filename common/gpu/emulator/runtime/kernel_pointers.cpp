// Kernels of which a program keeps only a void*.
#include <map>
#include <mutex>
#include <string>

#include "emulator/cuda/lockstep_emulator/kernel_pointer.h"
#include "emulator/runtime/api_call.hpp"

namespace lockstep::emulator {
namespace {

struct KnownKernel {
  std::string name;
  CallMaker maker = nullptr;
};

struct KnownKernels {
  std::mutex mutex;
  std::map<const void*, KnownKernel> kernels;
};

KnownKernels& known_kernels() {
  static auto* const all = new KnownKernels;  // NOLINT: never destroyed, for launches of other threads at exit
  return *all;
}

}  // namespace

void* remember_kernel(const void* kernel, const char* name, CallMaker maker) {
  const std::scoped_lock lock(known_kernels().mutex);
  known_kernels().kernels.try_emplace(kernel, KnownKernel{name, maker});
  return const_cast<void*>(kernel);
}

cudaError_t call_of_pointer(const void* kernel, void** arguments, KernelCall& call) {
  return api_call("cudaLaunchKernel", ApiNeeds::kWorkingDevice, [&] {
    const KnownKernel* known = nullptr;  // never forgotten once it is known
    {
      const std::scoped_lock lock(known_kernels().mutex);
      const auto found = known_kernels().kernels.find(kernel);
      api_require(found != known_kernels().kernels.end(), cudaErrorInvalidDeviceFunction,
                  "not the address of a kernel, or one that was not written as (void*)kernel");
      known = &found->second;
    }
    call = known->maker(kernel, arguments);
    call.name = known->name.c_str();
  });
}

}  // namespace lockstep::emulator
