// The calls of nccl.h about the library itself, and about memory.
#include <string>

#include "emulated_nccl/failure.hpp"
#include "emulated_nccl/registry.hpp"

using namespace lockstep::emulated_nccl;

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a CUDA call failed";
    case ncclSystemError:
      return "a system call failed";
    case ncclInternalError:
      return "a bug in the library";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "another rank failed or is gone";
    case ncclInProgress:
      return "in progress";
    default:
      return "unknown result";
  }
}

// The text stays valid until this thread's next call.
const char* ncclGetLastError(ncclComm_t comm) {
  thread_local std::string shown;
  try {
    shown = comm != nullptr ? communicator_of(comm)->message() : "";
  } catch (const NcclError&) {
    shown.clear();
  }
  if (shown.empty()) shown = last_error();
  return shown.c_str();
}

ncclResult_t ncclMemAlloc(void** pointer, size_t size) {
  return nccl_call("ncclMemAlloc", [&] {
    nccl_require(pointer != nullptr, ncclInvalidArgument, "the pointer to the memory is null");
    cuda_require(cudaMalloc(pointer, size), "cudaMalloc");
    return ncclSuccess;
  });
}

ncclResult_t ncclMemFree(void* pointer) {
  return nccl_call("ncclMemFree", [&] {
    cuda_require(cudaFree(pointer), "cudaFree");
    return ncclSuccess;
  });
}
