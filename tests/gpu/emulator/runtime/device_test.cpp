#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "emulator/runtime/kernels.hpp"
#include "support/catch.hpp"

namespace {

using namespace lockstep::emulator;

// Before the first call of the API reads it.
const bool kHasThreeDevices = ::setenv("LOCKSTEP_EMULATOR_DEVICES", "3", 1) == 0;

struct OnDeviceZero {
  OnDeviceZero() {
    REQUIRE(kHasThreeDevices);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
  }
  ~OnDeviceZero() { cudaSetDevice(0); }
};

std::ptrdiff_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// A joined thread may stay in the list for a moment.
bool falls_to_thread_count(std::ptrdiff_t expected) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (thread_count() > expected && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  return thread_count() <= expected;
}

}  // namespace

TEST_CASE_METHOD(OnDeviceZero, "Devices are chosen by number, one at a time for each thread", "[emulator]") {
  int count = 0;
  int device = -1;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  REQUIRE(count == 3);
  CHECK(cudaSetDevice(2) == cudaSuccess);
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 2);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(-1) == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(std::string(cudaGetErrorName(cudaErrorInvalidDevice)) == "cudaErrorInvalidDevice");
  CHECK(std::strlen(cudaGetErrorString(cudaErrorInvalidDevice)) > 0);
  CHECK(std::string(cudaGetErrorName(static_cast<cudaError_t>(1000))) == "unrecognized error code");
}

TEST_CASE_METHOD(OnDeviceZero, "Properties and attributes of a device agree", "[emulator]") {
  cudaDeviceProp all{};
  REQUIRE(cudaGetDeviceProperties(&all, 1) == cudaSuccess);
  CHECK(std::string(all.name) == "Lockstep emulated device");
  CHECK(all.major == 9);
  CHECK(all.minor == 0);
  CHECK(all.warpSize == 32);
  CHECK(all.maxThreadsDim[2] == 64);
  CHECK(all.maxGridSize[1] == 65535);
  const auto attribute = [](cudaDeviceAttr name) {
    int value = -1;
    REQUIRE(cudaDeviceGetAttribute(&value, name, 1) == cudaSuccess);
    return value;
  };
  CHECK(attribute(cudaDevAttrComputeCapabilityMajor) == all.major);
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == static_cast<int>(all.sharedMemPerBlockOptin));
  CHECK(attribute(cudaDevAttrMultiProcessorCount) == all.multiProcessorCount);
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(127), 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 3) == cudaErrorInvalidDevice);
  CHECK(cudaDriverGetVersion(&value) == cudaSuccess);
  CHECK(value == 13000);
}

TEST_CASE_METHOD(OnDeviceZero, "Devices exchange data directly, and events order their streams", "[emulator]") {
  constexpr int kCount = 500;
  std::vector<float*> memory(3);
  std::vector<cudaStream_t> streams(3);
  std::vector<cudaEvent_t> events(3);
  for (int device = 0; device < 3; ++device) {
    const auto i = static_cast<std::size_t>(device);
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(cudaMalloc(&memory[i], kCount * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaStreamCreate(&streams[i]) == cudaSuccess);
    REQUIRE(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming) == cudaSuccess);
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(test::fill(memory[0], 1.0F, kCount, streams[0]) == cudaSuccess);
  for (int device = 1; device < 3; ++device) {  // each adds 1 to what its neighbour sends
    const auto i = static_cast<std::size_t>(device);
    REQUIRE(cudaEventRecord(events[i - 1], streams[i - 1]) == cudaSuccess);
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(streams[i], events[i - 1]) == cudaSuccess);
    REQUIRE(cudaMemcpyPeerAsync(memory[i], device, memory[i - 1], device - 1, kCount * sizeof(float), streams[i]) ==
            cudaSuccess);
    REQUIRE(test::add(memory[i], 1.0F, kCount, 1, streams[i]) == cudaSuccess);
  }
  std::vector<float> seen(kCount);
  REQUIRE(cudaMemcpyAsync(seen.data(), memory[2], kCount * sizeof(float), cudaMemcpyDefault, streams[2]) ==
          cudaSuccess);
  CHECK(seen == std::vector<float>(kCount, 3.0F));
  CHECK(cudaMemcpyPeer(memory[0], 0, memory[2], 2, 40) == cudaSuccess);
  CHECK(cudaMemcpyPeer(memory[0], 1, memory[2], 2, 40) == cudaErrorInvalidValue);
  CHECK(cudaEventRecord(events[0], streams[2]) == cudaErrorInvalidResourceHandle);
  CHECK(test::fill(memory[0], 1.0F, kCount, streams[0]) == cudaErrorInvalidResourceHandle);  // device 2 is current
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(cudaFree(memory[i]) == cudaSuccess);
    CHECK(cudaStreamDestroy(streams[i]) == cudaSuccess);
    CHECK(cudaEventDestroy(events[i]) == cudaSuccess);
  }
  cudaGetLastError();
}

TEST_CASE_METHOD(OnDeviceZero, "Peer access is asked for once", "[emulator]") {
  int can_access = 0;
  CHECK(cudaDeviceCanAccessPeer(&can_access, 0, 1) == cudaSuccess);
  CHECK(can_access == 1);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceGetP2PAttribute(&can_access, cudaDevP2PAttrAccessSupported, 1, 1) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 1) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE_METHOD(OnDeviceZero, "A failed kernel makes its device unusable until it is reset, and no other",
                 "[emulator]") {
  void* x = nullptr;
  REQUIRE(cudaMalloc(&x, 64) == cudaSuccess);
  REQUIRE(test::fail(nullptr) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaMalloc(&x, 64) == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);  // it stays
  CHECK(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaMalloc(&x, 64) == cudaSuccess);
  CHECK(cudaMemset(x, 0, 64) == cudaSuccess);
  CHECK(cudaFree(x) == cudaSuccess);
}

TEST_CASE_METHOD(OnDeviceZero, "An impossible launch is refused, and harms nothing", "[emulator]") {
  CHECK(test::too_many_threads() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE_METHOD(OnDeviceZero, "cudaDeviceReset frees memory and ends threads", "[emulator]") {
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::size_t free_before = 0;
  std::size_t free_after = 0;
  std::size_t total = 0;
  REQUIRE(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  const auto threads_before = thread_count();
  for (int round = 0; round < 5; ++round) {
    void* x = nullptr;
    cudaStream_t stream = nullptr;
    REQUIRE(cudaMalloc(&x, 100000) == cudaSuccess);
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    REQUIRE(cudaLaunchHostFunc(
                stream, [](void*) {}, nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceReset() == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  }
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_after == free_before);
  CHECK(falls_to_thread_count(threads_before));
  cudaGetLastError();
}

// CUDA Runtime API, cudaDeviceReset: "destroys and cleans up all resources associated with the current device";
// cudaPointerAttributes::device: "if that device is deinitialized then this allocation will vanish with that device's
// state".
TEST_CASE_METHOD(OnDeviceZero, "cudaDeviceReset frees and unregisters the device's pinned memory, and no other's",
                 "[emulator]") {
  std::vector<std::byte> registered(5000);
  std::byte *pinned = nullptr, *of_other = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 1000) == cudaSuccess);
  REQUIRE(cudaHostRegister(registered.data(), registered.size(), 0) == cudaSuccess);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaMallocHost(&of_other, 1000) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaErrorInvalidValue);
  CHECK(cudaHostUnregister(registered.data()) == cudaErrorHostMemoryNotRegistered);
  CHECK(cudaHostRegister(registered.data(), registered.size(), 0) == cudaSuccess);
  CHECK(cudaHostUnregister(registered.data()) == cudaSuccess);
  of_other[999] = std::byte{1};
  CHECK(cudaFreeHost(of_other) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE_METHOD(OnDeviceZero, "cudaDeviceReset ends captures and empties pools", "[emulator]") {
  void* x = nullptr;
  cudaMemPool_t pool = nullptr;
  cudaStream_t stream = nullptr;
  std::uint64_t used = 0;
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  REQUIRE(cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
  REQUIRE(cudaMallocAsync(&x, 1000, nullptr) == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess);
  CHECK(used == 1000);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess);
  CHECK(used == 0);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

// CUDA Runtime API, cudaDeviceSetLimit: "a request by the application to update the current limit maintained by the
// device".
TEST_CASE_METHOD(OnDeviceZero, "A limit is of one device, and ends when that is reset", "[emulator]") {
  const auto stack_bytes = [] {
    std::size_t bytes = 0;
    CHECK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize) == cudaSuccess);
    return bytes;
  };
  const std::size_t usual = stack_bytes();
  REQUIRE(cudaDeviceSetLimit(cudaLimitStackSize, 4 * usual) == cudaSuccess);
  CHECK(stack_bytes() == 4 * usual);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(stack_bytes() == usual);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  CHECK(stack_bytes() == usual);
}

// CUDA Runtime API, cudaPointerAttributes: device is "the device against which the memory was allocated or registered".
TEST_CASE_METHOD(OnDeviceZero, "Pinned memory belongs to the device for which it was allocated or registered",
                 "[emulator]") {
  std::vector<std::byte> registered(5000);
  std::byte* pinned = nullptr;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, 1000) == cudaSuccess);
  REQUIRE(cudaHostRegister(registered.data(), registered.size(), 0) == cudaSuccess);
  REQUIRE(cudaSetDevice(2) == cudaSuccess);
  for (const void* const address : {static_cast<const void*>(pinned), static_cast<const void*>(registered.data())}) {
    cudaPointerAttributes attributes{};
    CHECK(cudaPointerGetAttributes(&attributes, address) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeHost);
    CHECK(attributes.device == 1);
  }
  CHECK(cudaHostUnregister(registered.data()) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE_METHOD(OnDeviceZero, "A pool may be of another device than the stream that allocates from it", "[emulator]") {
  float* x = nullptr;
  cudaMemPool_t pool = nullptr;
  cudaPointerAttributes attributes{};
  REQUIRE(cudaDeviceGetDefaultMemPool(&pool, 2) == cudaSuccess);
  REQUIRE(cudaMallocFromPoolAsync(&x, 1000, pool, nullptr) == cudaSuccess);
  CHECK(cudaPointerGetAttributes(&attributes, x) == cudaSuccess);
  CHECK(attributes.device == 2);
  CHECK(cudaFree(x) == cudaSuccess);
}

TEST_CASE_METHOD(OnDeviceZero, "Kernels have attributes, and an occupancy without regard to registers", "[emulator]") {
  cudaFuncAttributes attributes{};
  int blocks = 0;
  REQUIRE(test::fill_attributes(&attributes) == cudaSuccess);
  CHECK(attributes.maxThreadsPerBlock == 1024);
  CHECK(attributes.maxDynamicSharedSizeBytes == 48 * 1024);
  CHECK(test::set_fill_shared(100 * 1024) == cudaSuccess);
  CHECK(test::set_fill_shared(228 * 1024) == cudaErrorInvalidValue);
  CHECK(test::fill_occupancy(&blocks, 256, 0) == cudaSuccess);
  CHECK(blocks == 8);  // 2048 threads
  CHECK(test::fill_occupancy(&blocks, 33, 0) == cudaSuccess);
  CHECK(blocks == 32);  // of 64 warps, two a block
  CHECK(test::fill_occupancy(&blocks, 32, 100 * 1024) == cudaSuccess);
  CHECK(blocks == 2);  // 228 KiB / (100 + 1) KiB
  CHECK(test::fill_occupancy(&blocks, 1025, 0) == cudaSuccess);
  CHECK(blocks == 0);
  cudaGetLastError();
}
