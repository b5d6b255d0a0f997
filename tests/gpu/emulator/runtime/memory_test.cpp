#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "emulator/runtime/kernels.hpp"
#include "support/catch.hpp"

namespace {

using namespace lockstep::emulator;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

}  // namespace

TEST_CASE("Bytes survive the way to the device, within it and back", "[emulator]") {
  const std::size_t count = GENERATE(std::size_t{1}, 31U, 1000U, 100000U);
  const std::vector<float> sent = counted(count);
  std::vector<float> received(count);
  const std::size_t bytes = count * sizeof(float);
  float* a = nullptr;
  float* b = nullptr;
  REQUIRE(cudaMalloc(&a, bytes) == cudaSuccess);
  REQUIRE(cudaMalloc(&b, bytes) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(a) % 256 == 0);
  REQUIRE(cudaMemcpy(a, sent.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpy(received.data(), b, bytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(received == sent);
  CHECK(cudaFree(a) == cudaSuccess);
  CHECK(cudaFree(b) == cudaSuccess);
}

TEST_CASE("A source in pageable memory may change once cudaMemcpyAsync has returned", "[emulator]") {
  std::vector<float> sent = counted(5000);
  const std::vector<float> expected = sent;
  std::vector<float> received(sent.size());
  float* x = nullptr;
  REQUIRE(cudaMalloc(&x, sent.size() * sizeof(float)) == cudaSuccess);
  for (int round = 0; round < 20; ++round) {
    sent = expected;
    REQUIRE(cudaMemcpyAsync(x, sent.data(), sent.size() * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
    sent.assign(sent.size(), -1.0F);
    // To pageable memory the call waits.
    REQUIRE(cudaMemcpyAsync(received.data(), x, sent.size() * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
    REQUIRE(received == expected);
  }
  CHECK(cudaFree(x) == cudaSuccess);
}

TEST_CASE("cudaMemcpy2D copies rows between pitches", "[emulator]") {
  const std::vector<float> sent = counted(6 * 4);  // 6 rows of 4, of which 3 are copied
  std::vector<float> received(6 * 3, 0.0F);
  float* x = nullptr;
  constexpr std::size_t kPitch = 5 * sizeof(float);
  REQUIRE(cudaMalloc(&x, 6 * kPitch) == cudaSuccess);
  REQUIRE(cudaMemcpy2D(x, kPitch, sent.data(), 16, 12, 6, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpy2D(received.data(), 12, x, kPitch, 12, 6, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (std::size_t i = 0; i < received.size(); ++i) CHECK(received[i] == sent[i / 3 * 4 + i % 3]);
  CHECK(cudaMemcpy2D(x, 8, sent.data(), 16, 12, 6, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  CHECK(cudaFree(x) == cudaSuccess);
}

TEST_CASE("cudaMemset sets bytes of device and pinned memory, and of no other", "[emulator]") {
  unsigned char* x = nullptr;
  unsigned char* pinned = nullptr;
  std::vector<unsigned char> seen(100);
  REQUIRE(cudaMalloc(&x, 100) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, 100) == cudaSuccess);
  REQUIRE(cudaMemset(x, 7, 100) == cudaSuccess);
  REQUIRE(cudaMemset(pinned, 9, 100) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(x + 50, 8, 50) == cudaSuccess);
  REQUIRE(cudaMemcpy(seen.data(), x, 100, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (std::size_t i = 0; i < 100; ++i) CHECK(seen[i] == (i < 50 ? 7 : 8));
  CHECK(pinned[99] == 9);
  CHECK(cudaMemset(seen.data(), 1, 100) == cudaErrorInvalidValue);
  CHECK(cudaMemset(x, 1, 101) == cudaErrorInvalidValue);
  CHECK(cudaFree(x) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("A copy whose direction or range is wrong is refused", "[emulator]") {
  std::vector<float> host(200);
  float* x = nullptr;
  REQUIRE(cudaMalloc(&x, 400) == cudaSuccess);
  CHECK(cudaMemcpy(x, host.data(), 400, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(x, host.data(), 400, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(x, host.data(), 404, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(x + 1, host.data(), 400, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(nullptr, host.data(), 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(x, host.data(), 400, static_cast<cudaMemcpyKind>(7)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpy(x, host.data(), 0, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaFree(x) == cudaSuccess);
  CHECK(cudaMemcpy(x, host.data(), 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
}

TEST_CASE("Freeing twice, a middle or a stranger is refused, and null is nothing", "[emulator]") {
  float* x = nullptr;
  float stranger = 0.0F;
  REQUIRE(cudaMalloc(&x, 400) == cudaSuccess);
  CHECK(cudaFree(x + 1) == cudaErrorInvalidValue);
  CHECK(cudaFree(&stranger) == cudaErrorInvalidValue);
  CHECK(cudaFree(x) == cudaSuccess);
  CHECK(cudaFree(x) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaFreeHost(&stranger) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(nullptr) == cudaSuccess);
  CHECK(cudaMalloc(&x, 0) == cudaSuccess);
  CHECK(x == nullptr);
}

TEST_CASE("A device has the memory that it says, and no more", "[emulator]") {
  std::size_t free_before = 0;
  std::size_t total = 0;
  REQUIRE(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  CHECK(free_before <= total);
  void* x = nullptr;
  CHECK(cudaMalloc(&x, total + 1) == cudaErrorMemoryAllocation);
  CHECK(x == nullptr);
  CHECK(cudaMalloc(&x, ~std::size_t{0}) == cudaErrorMemoryAllocation);
  std::size_t free_after = 0;
  REQUIRE(cudaMalloc(&x, 1000000) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_before - free_after >= 1000000);
  REQUIRE(cudaFree(x) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_after == free_before);
}

TEST_CASE("cudaMallocAsync and cudaFreeAsync work in stream order", "[emulator]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  float* x = nullptr;
  std::vector<float> seen(100);
  REQUIRE(cudaMallocAsync(&x, 400, stream) == cudaSuccess);
  REQUIRE(test::fill(x, 3.0F, 100, stream) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(seen.data(), x, 400, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  REQUIRE(cudaFreeAsync(x, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(seen == std::vector<float>(100, 3.0F));
  CHECK(cudaFree(x) == cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("A pool counts what is allocated from it, and the most that was", "[emulator]") {
  const auto read = [](cudaMemPool_t pool, cudaMemPoolAttr attribute) {
    std::uint64_t value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, attribute, &value) == cudaSuccess);
    return value;
  };
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t current = nullptr, own = nullptr;
  REQUIRE(cudaDeviceGetMemPool(&current, 0) == cudaSuccess);
  REQUIRE(cudaMemPoolCreate(&own, &properties) == cudaSuccess);
  const std::uint64_t before = read(current, cudaMemPoolAttrUsedMemCurrent);
  float *plain = nullptr, *pooled = nullptr, *from_own = nullptr;
  REQUIRE(cudaMalloc(&plain, 4000) == cudaSuccess);  // of no pool
  REQUIRE(cudaMallocAsync(&pooled, 1000, nullptr) == cudaSuccess);
  REQUIRE(cudaMallocAsync(&from_own, 300, own, nullptr) == cudaSuccess);
  CHECK(read(current, cudaMemPoolAttrUsedMemCurrent) == before + 1000);
  CHECK(read(own, cudaMemPoolAttrUsedMemCurrent) == 300);
  CHECK(cudaFree(plain) == cudaSuccess);
  CHECK(cudaFree(pooled) == cudaSuccess);
  CHECK(cudaFreeAsync(from_own, nullptr) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(read(current, cudaMemPoolAttrUsedMemCurrent) == before);
  CHECK(read(own, cudaMemPoolAttrUsedMemCurrent) == 0);
  CHECK(read(own, cudaMemPoolAttrUsedMemHigh) == 300);
  std::uint64_t number = 5;
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrUsedMemHigh, &number) == cudaErrorInvalidValue);
  number = 0;
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrUsedMemHigh, &number) == cudaSuccess);
  CHECK(read(own, cudaMemPoolAttrUsedMemHigh) == 0);
  CHECK(read(own, cudaMemPoolAttrReservedMemHigh) == 300);
  REQUIRE(cudaMallocAsync(&from_own, 300, own, nullptr) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(own) == cudaSuccess);
  CHECK(cudaFree(from_own) == cudaSuccess);  // outlives its pool
}

TEST_CASE("Rows of more bytes than there are numbers do not fit", "[emulator]") {
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  float* x = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&x, &pitch, kHuge, kHuge) == cudaErrorMemoryAllocation);
  CHECK(cudaMallocPitch(&x, &pitch, ~std::size_t{0}, 2) == cudaErrorMemoryAllocation);
  cudaPitchedPtr region{};
  CHECK(cudaMalloc3D(&region, make_cudaExtent(std::size_t{1} << 32, 65536, 65536)) == cudaErrorMemoryAllocation);
}

TEST_CASE("Rows that reach beyond all addresses are neither copied nor set", "[emulator]") {
  constexpr std::size_t kHuge = std::size_t{1} << 32;
  std::vector<float> host(100);
  float* x = nullptr;
  REQUIRE(cudaMalloc(&x, 400) == cudaSuccess);
  const auto copy = [&](std::size_t width, std::size_t height) {
    return cudaMemcpy2D(x, kHuge, host.data(), kHuge, width, height, cudaMemcpyHostToDevice);
  };
  CHECK(copy(kHuge, kHuge) == cudaErrorInvalidValue);  // 2^64 bytes, which is 0
  CHECK(copy(4, kHuge + 1) == cudaErrorInvalidValue);  // the last row would begin where the first does
  CHECK(cudaMemset2D(x, kHuge, 0, 4, kHuge + 1) == cudaErrorInvalidValue);
  CHECK(cudaFree(x) == cudaSuccess);
}

// CUDA Runtime API, cudaMemcpy3D: "The destination object must lie entirely within the region defined by dstPos and
// extent", else the call is an error.
TEST_CASE("A copy or set of slices that is refused has changed no slice", "[emulator]") {
  std::vector<float> host(3 * 100, 7.0F);
  std::vector<float> seen(2 * 100);
  float* x = nullptr;
  REQUIRE(cudaMalloc(&x, 800) == cudaSuccess);  // two slices of 4 rows of 25
  REQUIRE(cudaMemset(x, 0, 800) == cudaSuccess);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), 100, 100, 4);
  copy.dstPtr = make_cudaPitchedPtr(x, 100, 100, 4);
  copy.extent = make_cudaExtent(100, 4, 3);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy3DAsync(&copy) == cudaErrorInvalidValue);
  CHECK(cudaMemset3D(copy.dstPtr, 1, copy.extent) == cudaErrorInvalidValue);
  copy.dstPos.z = std::size_t{1} << 62;  // times 4 rows: the first slice again, if the address wraps around
  copy.extent.depth = 1;
  CHECK(cudaMemcpy3D(&copy) == cudaErrorInvalidValue);
  REQUIRE(cudaMemcpy(seen.data(), x, 800, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen == std::vector<float>(2 * 100, 0.0F));
  copy.dstPos.z = 0;
  copy.extent.depth = 2;
  CHECK(cudaMemcpy3D(&copy) == cudaSuccess);
  REQUIRE(cudaMemcpy(seen.data(), x, 800, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen == std::vector<float>(2 * 100, 7.0F));
  CHECK(cudaFree(x) == cudaSuccess);
}

TEST_CASE("A grid barrier keeps the shared memory of blocks, and lets the host's static objects alone", "[emulator]") {
  int *kept = nullptr, *counts = nullptr;
  REQUIRE(cudaMallocManaged(&kept, 3 * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&counts, 2 * sizeof(int)) == cudaSuccess);
  REQUIRE(test::grid_barriers(kept, counts, 3) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(std::vector<int>(kept, kept + 3) == std::vector<int>{0, 1, 2});
  CHECK(std::vector<int>(counts, counts + 2) == std::vector<int>{101, 102});
  CHECK(cudaFree(kept) == cudaSuccess);
  CHECK(cudaFree(counts) == cudaSuccess);
}

TEST_CASE("cudaPointerGetAttributes tells whose memory an address is of", "[emulator]") {
  float local = 0.0F;
  float* device = nullptr;
  float* pinned = nullptr;
  float* managed = nullptr;
  std::vector<float> registered(1000);
  REQUIRE(cudaMalloc(&device, 400) == cudaSuccess);
  REQUIRE(cudaHostAlloc(&pinned, 400, cudaHostAllocPortable) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&managed, 400) == cudaSuccess);
  CHECK(cudaHostRegister(registered.data(), ~std::size_t{0}, cudaHostRegisterDefault) == cudaErrorInvalidValue);
  REQUIRE(cudaHostRegister(registered.data(), 4000, cudaHostRegisterDefault) == cudaSuccess);
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes{};
    REQUIRE(cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess);
    return attributes.type;
  };
  CHECK(type_of(&local) == cudaMemoryTypeUnregistered);
  CHECK(type_of(device + 99) == cudaMemoryTypeDevice);
  CHECK(type_of(pinned) == cudaMemoryTypeHost);
  CHECK(type_of(managed) == cudaMemoryTypeManaged);
  CHECK(type_of(registered.data() + 999) == cudaMemoryTypeHost);
  const auto flags_of = [](void* pointer) {
    unsigned flags = 0;
    REQUIRE(cudaHostGetFlags(&flags, pointer) == cudaSuccess);
    return flags;
  };
  CHECK(flags_of(pinned + 99) == (cudaHostAllocPortable | cudaHostAllocMapped));
  CHECK(flags_of(registered.data()) == cudaHostAllocMapped);
  CHECK(cudaHostRegister(registered.data() + 1, 4, 0) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaHostUnregister(registered.data()) == cudaSuccess);
  CHECK(cudaHostUnregister(registered.data()) == cudaErrorHostMemoryNotRegistered);
  CHECK(type_of(registered.data()) == cudaMemoryTypeUnregistered);
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(type_of(device) == cudaMemoryTypeUnregistered);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFree(managed) == cudaSuccess);
}

TEST_CASE("Host and kernels share managed memory", "[emulator]") {
  float* x = nullptr;
  REQUIRE(cudaMallocManaged(&x, 400) == cudaSuccess);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  REQUIRE(test::add(x, 0.5F, 100, 2, nullptr) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 100; ++i) CHECK(x[i] == static_cast<float>(i) + 1.0F);
  CHECK(cudaFree(x) == cudaSuccess);
}

TEST_CASE("Kernels see what is copied to a symbol, and leave what is copied from one", "[emulator]") {
  const bool is_async = GENERATE(false, true);
  const std::vector<float> table = is_async ? std::vector{5.0F, 6.0F, 7.0F, 8.0F} : std::vector{1.0F, 2.0F, 3.0F, 4.0F};
  std::vector<float> seen(4);
  int before = 0;
  int after = 0;
  float* x = nullptr;
  REQUIRE(cudaMalloc(&x, 16) == cudaSuccess);
  REQUIRE(test::set_table(table.data(), is_async, nullptr) == cudaSuccess);
  REQUIRE(test::get_launch_count(&before) == cudaSuccess);
  REQUIRE(test::read_table(x, nullptr) == cudaSuccess);
  REQUIRE(cudaMemcpy(seen.data(), x, 16, cudaMemcpyDeviceToHost) == cudaSuccess);
  REQUIRE(test::get_launch_count(&after) == cudaSuccess);
  CHECK(seen == table);
  CHECK(after == before + 1);
  CHECK(cudaFree(x) == cudaSuccess);
}
