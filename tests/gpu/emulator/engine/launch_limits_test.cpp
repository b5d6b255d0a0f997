#include "device/launch.hpp"
#include "run_kernel.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

constexpr int kThreads = 96;

__global__ void __launch_bounds__(kThreads) bounded(int* count) { ++*count; }
__global__ __launch_bounds__(kThreads * 2, 2) void bounded_in_front(int* count) { ++*count; }
template <int kMost>
__global__ void __launch_bounds__(kMost) bounded_by_parameter(int* count) {
  ++*count;
}
__global__ void unbounded(int* count) { ++*count; }

template <typename Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

cudaError_t check(dim3 grid, dim3 block, std::size_t shared_bytes = 0, const void* function = nullptr) {
  KernelCall call;
  call.grid = grid;
  call.block = block;
  call.shared_bytes = shared_bytes;
  call.function = function;
  std::string message;
  const cudaError_t error = check_launch(call, message);
  CHECK(message.empty() == (error == cudaSuccess));
  return error;
}

}  // namespace

TEST_CASE("Grids and blocks within CUDA's limits are launched, others refused", "[emulator]") {
  CHECK(check(1, 1024) == cudaSuccess);
  CHECK(check(1, {16, 1, 64}) == cudaSuccess);
  CHECK(check(2147483647, 1) == cudaSuccess);
  CHECK(check({1, 65535, 65535}, 1) == cudaSuccess);
  for (const dim3 block : {dim3(0), dim3(1, 0), dim3(1025), dim3(1, 1, 65), dim3(33, 32)}) {
    CHECK(check(1, block) == cudaErrorInvalidConfiguration);
  }
  for (const dim3 grid : {dim3(0), dim3(1, 1, 0), dim3(2147483648U), dim3(1, 65536), dim3(1, 1, 65536)}) {
    CHECK(check(grid, 1) == cudaErrorInvalidConfiguration);
  }
  CHECK(run(0, 1, [] {}).error == cudaErrorInvalidConfiguration);
}

TEST_CASE("More dynamic shared memory than 48 KiB has to be asked for, up to 227 KiB", "[emulator]") {
  const void* kernel = address_of(&unbounded);
  CHECK(check(1, 1, 48 * 1024, kernel) == cudaSuccess);
  CHECK(check(1, 1, 48 * 1024 + 1, kernel) == cudaErrorInvalidValue);
  CHECK(set_max_dynamic_shared(kernel, 227 * 1024 + 1) == cudaErrorInvalidValue);
  CHECK(set_max_dynamic_shared(kernel, 100 * 1024) == cudaSuccess);
  CHECK(check(1, 1, 100 * 1024, kernel) == cudaSuccess);
  CHECK(check(1, 1, 100 * 1024 + 1, kernel) == cudaErrorInvalidValue);
  CHECK(set_max_dynamic_shared(kernel, 0) == cudaSuccess);
}

TEST_CASE("All of the dynamic shared memory is there and the same in every thread", "[emulator]") {
  int wrong = 0;
  const KernelResult result = run(
      2, 64,
      [&] {
        auto* words = dynamic_shared<int>();
        const int count = 48 * 1024 / 4;
        for (int index = static_cast<int>(threadIdx.x); index < count; index += 64) words[index] = index;
        __syncthreads();
        if (words[count - 1 - static_cast<int>(threadIdx.x)] != count - 1 - static_cast<int>(threadIdx.x)) ++wrong;
      },
      48 * 1024);
  CHECK(result.is_ok);
  CHECK(wrong == 0);
}

// clang takes no template parameter in the attribute that carries the bound: there nothing is checked.
#if !defined(__clang__)
TEST_CASE("__launch_bounds__ is found wherever it stands, and kept", "[emulator]") {
  CHECK(max_threads_per_block(address_of(&bounded)) == 96);
  CHECK(max_threads_per_block(address_of(&bounded_in_front)) == 192);
  CHECK(max_threads_per_block(address_of(&bounded_by_parameter<33>)) == 33);
  CHECK(max_threads_per_block(address_of(&bounded_by_parameter<640>)) == 640);
  CHECK(max_threads_per_block(address_of(&unbounded)) == 1024);
  CHECK(check(1, 96, 0, address_of(&bounded)) == cudaSuccess);
  CHECK(check(1, 97, 0, address_of(&bounded)) == cudaErrorLaunchOutOfResources);
}
#endif

TEST_CASE("A kernel with a bound runs", "[emulator]") {
  int count = 0;
  CHECK(run(2, 32, [&] { bounded(&count); }).is_ok);
  CHECK(run(2, 32, [&] { bounded_by_parameter<33>(&count); }).is_ok);
  CHECK(count == 128);
}
