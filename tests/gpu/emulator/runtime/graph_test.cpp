// Graphs that allocate memory or copy regions, and what a capture forbids.
#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "emulator/runtime/kernels.hpp"
#include "support/catch.hpp"

namespace {

using namespace lockstep::emulator;

// Memory and streams that end with the test.
struct GraphFixture {
  static constexpr int kCount = 300;
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  GraphFixture() {
    REQUIRE(cudaMalloc(&x, kBytes) == cudaSuccess);
    REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking) == cudaSuccess);
  }
  ~GraphFixture() {
    cudaFree(x);
    cudaStreamDestroy(blocking);
    cudaStreamDestroy(free_running);
  }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> copied(kCount);
    REQUIRE(cudaMemcpy(copied.data(), x, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    return copied;
  }

  float* x = nullptr;
  cudaStream_t blocking = nullptr;
  cudaStream_t free_running = nullptr;
};

}  // namespace

// CUDA Runtime API, cudaMallocAsync: "During stream capture, this function results in the creation of an allocation
// node. In this case, the allocation is owned by the graph". cudaFreeAsync: in a capture it "must therefore be passed
// the address of a graph allocation".
TEST_CASE_METHOD(GraphFixture, "A graph may allocate memory, use it and free it, at each launch", "[emulator]") {
  std::vector<float> host(kCount);
  float* temporary = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::size_t free_before = 0, free_during = 0, free_after = 0, total = 0;
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaMallocAsync(&temporary, kBytes, blocking) == cudaSuccess);
  REQUIRE(test::fill(temporary, 4.0F, kCount, blocking) == cudaSuccess);
  REQUIRE(test::add(temporary, 2.0F, kCount, 1, blocking) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(host.data(), temporary, kBytes, cudaMemcpyDeviceToHost, blocking) == cudaSuccess);
  CHECK(cudaFreeAsync(x, blocking) == cudaErrorInvalidValue);  // of no graph
  REQUIRE(cudaFreeAsync(temporary, blocking) == cudaSuccess);
  CHECK(cudaFreeAsync(temporary, blocking) == cudaErrorInvalidValue);
  REQUIRE(cudaStreamEndCapture(blocking, &graph) == cudaSuccess);
  CHECK(cudaFree(temporary) == cudaErrorNotSupported);
  CHECK(cudaFreeAsync(temporary, blocking) == cudaErrorNotSupported);
  REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (int launch = 0; launch < 2; ++launch) {
    host.assign(kCount, 0.0F);
    REQUIRE(cudaGraphLaunch(executable, blocking) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);
    CHECK(host == std::vector<float>(kCount, 6.0F));
  }
  REQUIRE(cudaMemGetInfo(&free_during, &total) == cudaSuccess);
  CHECK(free_during < free_before);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  REQUIRE(cudaMemset(x, 0, kBytes) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);  // operations are dropped before the next one begins
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_after == free_before);
}

// CUDA Runtime API, cudaGraphAddMemcpyNode: its cudaMemcpy3DParms describe a whole copy of cudaMemcpy3D.
TEST_CASE_METHOD(GraphFixture, "A copy of several slices is one operation", "[emulator]") {
  std::vector<float> host(kCount, 3.0F);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), 40, 40, 10);
  copy.dstPtr = make_cudaPitchedPtr(x, 40, 40, 10);
  copy.extent = make_cudaExtent(40, 10, 3);  // kCount elements
  copy.kind = cudaMemcpyHostToDevice;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::size_t nodes = 0;
  REQUIRE(cudaStreamBeginCapture(free_running, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMemcpy3DAsync(&copy, free_running) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(free_running, &graph) == cudaSuccess);
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 1);
  REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, free_running) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(free_running) == cudaSuccess);
  CHECK(values() == host);
  const std::vector<float> staged(kCount, 4.0F);
  std::vector<float> source = staged;
  copy.srcPtr.ptr = source.data();
  REQUIRE(cudaMemcpy3DAsync(&copy, free_running) == cudaSuccess);
  source.assign(kCount, -1.0F);  // pageable memory may change at once
  REQUIRE(cudaStreamSynchronize(free_running) == cudaSuccess);
  CHECK(values() == staged);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

// CUDA Runtime API, cudaThreadExchangeStreamCaptureMode: with an ongoing capture that was not begun as relaxed, or a
// global one of any thread, "this thread is prohibited from potentially unsafe API calls", of which cudaMalloc is one.
TEST_CASE_METHOD(GraphFixture, "a capture's mode says which threads' unsafe calls end it", "[emulator]") {
  std::vector<float> values(100);
  float *device = nullptr, *pinned = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaMalloc(&device, 100) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, 100) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, free_running) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  float *made = nullptr, *made_pinned = nullptr, *made_managed = nullptr;
  // Each undoes what the one before has done, where that was allowed.
  const std::vector<std::function<cudaError_t()>> calls = {
      [&] { return cudaMalloc(&made, 100); },
      [&] { return cudaFree(made == nullptr ? device : made); },
      [&] { return cudaMallocHost(&made_pinned, 100); },
      [&] { return cudaFreeHost(made_pinned == nullptr ? pinned : made_pinned); },
      [&] { return cudaMallocManaged(&made_managed, 100); },
      [&] { return made_managed == nullptr ? cudaFree(device) : cudaFree(made_managed); },
      [&] { return cudaHostRegister(values.data(), 400, cudaHostRegisterDefault); },
      [&] { return cudaEventQuery(event); },
      [&] { return cudaEventSynchronize(event); }};
  struct Case {
    cudaStreamCaptureMode mode;
    bool is_other_thread;
    cudaStreamCaptureMode mode_of_thread;
    bool is_forbidden;
  };
  constexpr auto kGlobal = cudaStreamCaptureModeGlobal;
  constexpr auto kThreadLocal = cudaStreamCaptureModeThreadLocal;
  constexpr auto kRelaxed = cudaStreamCaptureModeRelaxed;
  for (const Case& each : {Case{kGlobal, false, kGlobal, true}, Case{kGlobal, true, kGlobal, true},
                           Case{kGlobal, true, kThreadLocal, false}, Case{kGlobal, false, kThreadLocal, true},
                           Case{kGlobal, false, kRelaxed, false}, Case{kThreadLocal, false, kGlobal, true},
                           Case{kThreadLocal, true, kGlobal, false}, Case{kRelaxed, false, kGlobal, false}}) {
    made = made_pinned = made_managed = nullptr;
    for (const auto& call : calls) {
      cudaGraph_t graph = nullptr;
      REQUIRE(cudaStreamBeginCapture(free_running, each.mode) == cudaSuccess);
      cudaError_t result = cudaErrorUnknown;
      cudaStreamCaptureMode before = kRelaxed;
      const auto try_call = [&] {
        cudaStreamCaptureMode mode = each.mode_of_thread;
        cudaThreadExchangeStreamCaptureMode(&mode);
        result = call();
        before = mode;
        cudaThreadExchangeStreamCaptureMode(&mode);
      };
      each.is_other_thread ? std::thread(try_call).join() : try_call();
      CHECK(before == kGlobal);
      CHECK(result == (each.is_forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess));
      CHECK(cudaStreamEndCapture(free_running, &graph) ==
            (each.is_forbidden ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
      CHECK(cudaSuccess == (graph == nullptr ? cudaSuccess : cudaGraphDestroy(graph)));
    }
    if (!each.is_forbidden) CHECK(cudaHostUnregister(values.data()) == cudaSuccess);
  }
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFree(device) == cudaSuccess);
}
