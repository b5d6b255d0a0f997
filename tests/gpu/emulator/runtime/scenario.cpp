// Small programs that the runtime's tests run with environments of their own: `runtime_scenario NAME`.
// Exit status 0: what the name says came out as it should; 1: it did not; 3: an unexpected error.
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "emulator/runtime/kernels.hpp"

namespace {

using lockstep::emulator::test::add;
using lockstep::emulator::test::copy;
using lockstep::emulator::test::fail;
using lockstep::emulator::test::fill;

constexpr int kCount = 2000;
constexpr std::size_t kBytes = kCount * sizeof(float);

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "scenario: %s\n", cudaGetErrorName(error));
  std::exit(3);
}

template <typename T>
T* device_memory() {
  T* pointer = nullptr;
  check(cudaMalloc(&pointer, kBytes));
  return pointer;
}

template <typename T>
T* pinned_memory() {
  T* pointer = nullptr;
  check(cudaMallocHost(&pointer, kBytes));
  return pointer;
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

bool is_filled(const float* values, float with) {
  for (int i = 0; i < kCount; ++i) {
    if (values[i] != with) return false;
  }
  return true;
}

// One stream produces, another consumes; an event orders them, or does not.
int produce_and_consume(bool waits) {
  auto* x = device_memory<float>();
  auto* result = pinned_memory<float>();
  const cudaStream_t producer = new_stream();
  const cudaStream_t consumer = new_stream();
  cudaEvent_t is_produced = nullptr;
  check(cudaEventCreateWithFlags(&is_produced, cudaEventDisableTiming));
  bool is_right = true;
  for (int round = 1; round <= 8; ++round) {
    check(fill(x, static_cast<float>(round), kCount, producer));
    check(cudaEventRecord(is_produced, producer));
    if (waits) check(cudaStreamWaitEvent(consumer, is_produced));
    check(cudaMemcpyAsync(result, x, kBytes, cudaMemcpyDeviceToHost, consumer));
    check(cudaStreamSynchronize(consumer));
    is_right = is_right && is_filled(result, static_cast<float>(round));
    check(cudaStreamSynchronize(producer));
  }
  return is_right ? 0 : 1;
}

// The host reads pinned memory; it waits for the copy, or does not.
int read_pinned(bool waits) {
  auto* x = device_memory<float>();
  auto* result = pinned_memory<float>();
  const cudaStream_t stream = new_stream();
  check(fill(x, 5.0F, kCount, stream));
  check(cudaMemcpyAsync(result, x, kBytes, cudaMemcpyDeviceToHost, stream));
  if (waits) check(cudaStreamSynchronize(stream));
  return is_filled(result, 5.0F) ? 0 : 1;
}

// A kernel uses pinned memory that is closed to the host: the copy before it in its stream has not been waited for.
int add_behind_copy() {
  auto* x = device_memory<float>();
  auto* result = pinned_memory<float>();
  const cudaStream_t stream = new_stream();
  check(fill(x, 5.0F, kCount, stream));
  check(cudaMemcpyAsync(result, x, kBytes, cudaMemcpyDeviceToHost, stream));
  check(add(result, 1.0F, kCount, 1, stream));
  check(cudaStreamSynchronize(stream));
  return is_filled(result, 6.0F) ? 0 : 1;
}

int read_device_memory() {
  auto* x = device_memory<float>();
  check(cudaMemset(x, 0, kBytes));
  check(cudaDeviceSynchronize());
  return *static_cast<volatile float*>(x) == 0.0F ? 0 : 1;
}

// Two streams write the same bytes; the host waits between them, or does not.
int set_twice(bool waits) {
  auto* x = device_memory<float>();
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  check(cudaMemsetAsync(x, 1, kBytes, first));
  if (waits) check(cudaStreamSynchronize(first));
  check(cudaMemsetAsync(x, 2, kBytes, second));
  check(cudaDeviceSynchronize());
  return 0;
}

// Two streams pass a buffer to and fro. The first wait is for an event that was never recorded, as it may be; the last
// wait is missing.
int forget_last_wait() {
  auto* x = device_memory<float>();
  const cudaStream_t producer = new_stream(), consumer = new_stream();
  cudaEvent_t is_filled = nullptr, is_used = nullptr;
  check(cudaEventCreate(&is_filled));
  check(cudaEventCreate(&is_used));
  for (int round = 0; round < 3; ++round) {
    if (round < 2) check(cudaStreamWaitEvent(producer, is_used));
    check(cudaMemsetAsync(x, round, kBytes, producer));
    check(cudaEventRecord(is_filled, producer));
    check(cudaStreamWaitEvent(consumer, is_filled));
    check(cudaMemsetAsync(x, round, kBytes, consumer));
    check(cudaEventRecord(is_used, consumer));
  }
  check(cudaDeviceSynchronize());
  return 0;
}

int print_devices() {
  int count = -1;
  const cudaError_t error = cudaGetDeviceCount(&count);
  std::printf("%s %d", cudaGetErrorName(error), count);
  for (int device = 0; device < count; ++device) {
    char text[16] = "";
    check(cudaDeviceGetPCIBusId(text, sizeof text, device));
    std::printf(" %s", text);
  }
  std::printf("\n");
  return 0;
}

int use_all_memory() {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, std::size_t{1} << 20));
  void* more = nullptr;
  if (cudaMalloc(&more, std::size_t{1} << 20) != cudaErrorMemoryAllocation) return 1;
  check(cudaFree(pointer));
  return cudaMalloc(&more, std::size_t{1} << 20) == cudaSuccess ? 0 : 1;
}

int use_after_fork() {
  check(cudaDeviceSynchronize());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(cudaDeviceSynchronize() == cudaErrorInitializationError ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  check(cudaDeviceSynchronize());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Leaves main with work that takes far longer than a test may.
int exit_with_work_pending() {
  auto* x = device_memory<float>();
  const cudaStream_t stream = new_stream();
  for (int round = 0; round < 20000; ++round) check(add(x, 1.0F, kCount, 10, stream));
  check(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::hours(1)); }, nullptr));
  return 0;
}

int exit_in_host_function() {
  check(cudaLaunchHostFunc(
      nullptr, [](void*) { std::this_thread::sleep_for(std::chrono::hours(1)); }, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> scenarios{
      {"wait_event", [] { return produce_and_consume(true); }},
      {"forgotten_wait_event", [] { return produce_and_consume(false); }},
      {"read_pinned", [] { return read_pinned(true); }},
      {"read_pinned_too_early", [] { return read_pinned(false); }},
      {"add_behind_copy", add_behind_copy},
      {"read_device_memory", read_device_memory},
      {"set_in_order", [] { return set_twice(true); }},
      {"set_without_order", [] { return set_twice(false); }},
      {"forget_last_wait", forget_last_wait},
      {"print_devices", print_devices},
      {"use_all_memory", use_all_memory},
      {"use_after_fork", use_after_fork},
      {"exit_with_work_pending", exit_with_work_pending},
      {"exit_in_host_function", exit_in_host_function},
  };
  const auto found = scenarios.find(argc == 2 ? argv[1] : "");
  if (found == scenarios.end()) return 2;
  return found->second();
}
