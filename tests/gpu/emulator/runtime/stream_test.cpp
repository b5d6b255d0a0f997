#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "emulator/runtime/kernels.hpp"
#include "support/catch.hpp"

namespace {

using namespace lockstep::emulator;

constexpr int kCount = 300;
constexpr std::size_t kBytes = kCount * sizeof(float);

// Memory, a stream and an event that end with the test.
struct Fixture {
  Fixture() {
    REQUIRE(cudaMalloc(&x, kBytes) == cudaSuccess);
    REQUIRE(cudaMalloc(&y, kBytes) == cudaSuccess);
    REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  }
  ~Fixture() {
    cudaFree(x);
    cudaFree(y);
    cudaStreamDestroy(blocking);
    cudaStreamDestroy(free_running);
    cudaEventDestroy(event);
  }
  float* x = nullptr;
  float* y = nullptr;
  cudaStream_t blocking = nullptr;
  cudaStream_t free_running = nullptr;
  cudaEvent_t event = nullptr;
};

// A host function that holds its stream until it is opened.
class Gate {
 public:
  void close(cudaStream_t stream) {
    REQUIRE(cudaLaunchHostFunc(
                stream, [](void* gate) { static_cast<Gate*>(gate)->pass(); }, this) == cudaSuccess);
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return is_open_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

std::vector<float> values_of(const float* x) {
  std::vector<float> values(kCount);
  REQUIRE(cudaMemcpy(values.data(), x, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  return values;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "Operations of a stream run in issue order", "[emulator]") {
  // Handles are of this run's fixture: only their number can be generated.
  const auto number = GENERATE(std::size_t{0}, 1U, 2U, 3U, 4U);
  const cudaStream_t streams[] = {nullptr, blocking, free_running, cudaStreamLegacy, cudaStreamPerThread};
  const cudaStream_t stream = streams[number];
  REQUIRE(test::fill(x, 1.0F, kCount, stream) == cudaSuccess);
  for (int round = 0; round < 20; ++round) REQUIRE(test::add(x, 0.5F, kCount, 2, stream) == cudaSuccess);
  REQUIRE(test::copy(y, x, kCount, stream) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(x, 0, kBytes, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(values_of(y) == std::vector<float>(kCount, 21.0F));
  CHECK(values_of(x) == std::vector<float>(kCount, 0.0F));
}

TEST_CASE_METHOD(Fixture, "The legacy default stream waits for blocking streams and they for it", "[emulator]") {
  Gate gate;
  gate.close(blocking);
  REQUIRE(test::fill(x, 2.0F, kCount, nullptr) == cudaSuccess);
  CHECK(cudaStreamQuery(nullptr) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(free_running) == cudaSuccess);
  REQUIRE(test::fill(y, 2.0F, kCount, free_running) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(free_running) == cudaSuccess);  // does not wait for the gate
  gate.open();
  REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);

  Gate second;
  second.close(nullptr);
  REQUIRE(test::fill(x, 3.0F, kCount, blocking) == cudaSuccess);
  CHECK(cudaStreamQuery(blocking) == cudaErrorNotReady);
  second.open();
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaStreamQuery(blocking) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
}

TEST_CASE_METHOD(Fixture, "An event marks what its stream has been given, and other streams can wait for it",
                 "[emulator]") {
  CHECK(cudaEventQuery(event) == cudaSuccess);  // never recorded
  Gate gate;
  gate.close(free_running);
  REQUIRE(test::fill(x, 4.0F, kCount, free_running) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, free_running) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  REQUIRE(cudaStreamWaitEvent(blocking, event) == cudaSuccess);
  REQUIRE(test::copy(y, x, kCount, blocking) == cudaSuccess);
  gate.open();
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);
  CHECK(values_of(y) == std::vector<float>(kCount, 4.0F));
}

TEST_CASE_METHOD(Fixture, "The time between two events is that of the work between them", "[emulator]") {
  cudaEvent_t end = nullptr;
  float milliseconds = -1.0F;
  REQUIRE(cudaEventCreate(&end) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&milliseconds, event, end) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaEventRecord(event, blocking) == cudaSuccess);
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  REQUIRE(cudaLaunchHostFunc(blocking, sleep, nullptr) == cudaSuccess);
  REQUIRE(cudaEventRecord(end, blocking) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(end) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&milliseconds, event, end) == cudaSuccess);
  CHECK(milliseconds >= 20.0F);
  CHECK(cudaEventDestroy(end) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "Host functions of two streams of one device may wait for each other", "[emulator]") {
  struct Meeting {
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    int met = 0;
  } meeting;
  const auto meet = [](void* place) {
    auto& both = *static_cast<Meeting*>(place);
    std::unique_lock lock(both.mutex);
    ++both.arrived;
    both.changed.notify_all();
    if (both.changed.wait_for(lock, std::chrono::seconds(20), [&] { return both.arrived == 2; })) ++both.met;
  };
  REQUIRE(cudaLaunchHostFunc(blocking, meet, &meeting) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(free_running, meet, &meeting) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(meeting.met == 2);
}

TEST_CASE_METHOD(Fixture, "Everything issued completes without further calls", "[emulator]") {
  std::atomic<bool> is_done{false};
  REQUIRE(test::fill(x, 1.0F, kCount, free_running) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(
              free_running, [](void* done) { *static_cast<std::atomic<bool>*>(done) = true; }, &is_done) ==
          cudaSuccess);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_done && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(is_done);
}

// By the time of a second free the address could be that of another allocation.
TEST_CASE_METHOD(Fixture, "Memory whose free has been issued cannot be freed again", "[emulator]") {
  Gate gate;
  void* block = nullptr;
  REQUIRE(cudaMallocAsync(&block, 64, free_running) == cudaSuccess);
  gate.close(free_running);
  REQUIRE(cudaFreeAsync(block, free_running) == cudaSuccess);
  CHECK(cudaFreeAsync(block, free_running) == cudaErrorInvalidValue);
  CHECK(cudaFreeAsync(block, blocking) == cudaErrorInvalidValue);
  gate.open();
  CHECK(cudaStreamSynchronize(free_running) == cudaSuccess);
  CHECK(cudaFree(block) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "A host function must not call the API", "[emulator]") {
  cudaError_t inside = cudaSuccess;
  const auto call = [](void* error) { *static_cast<cudaError_t*>(error) = cudaDeviceSynchronize(); };
  REQUIRE(cudaLaunchHostFunc(blocking, call, &inside) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);
  CHECK(inside == cudaErrorNotPermitted);
}

// A learner's object that frees its memory: each copy of it does.
TEST_CASE_METHOD(Fixture, "A kernel's argument whose destructor calls the API is refused when the kernel is over",
                 "[emulator]") {
  struct Owner {
    std::thread::id host;
    std::atomic<int>* refused;
    Owner(std::thread::id host_, std::atomic<int>* refused_) : host(host_), refused(refused_) {}
    Owner(const Owner&) = default;
    Owner& operator=(const Owner&) = default;
    ~Owner() {
      if (std::this_thread::get_id() != host && cudaFree(nullptr) == cudaErrorNotPermitted) ++*refused;
    }
  };
  std::atomic<int> refused = 0;
  void (*const kernel)(Owner) = [](Owner) {};
  Gate gate;
  gate.close(blocking);  // until the launch has returned: it may hold the argument to its end
  {
    const Owner owner(std::this_thread::get_id(), &refused);
    REQUIRE(launch_kernel("kernel", kernel, {1, 1, 0, blocking}, {}, owner) == cudaSuccess);
  }
  gate.open();
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);
  REQUIRE(test::fill(x, 1.0F, kCount, blocking) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);  // the launch before it has ended in all respects
  CHECK(refused == 1);
}

TEST_CASE_METHOD(Fixture, "Destroyed handles are refused, and what was issued to them completes", "[emulator]") {
  cudaStream_t stream = nullptr;
  cudaEvent_t mark = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1) == cudaSuccess);
  REQUIRE(cudaEventCreate(&mark) == cudaSuccess);
  Gate gate;
  gate.close(stream);
  REQUIRE(test::fill(x, 6.0F, kCount, stream) == cudaSuccess);
  REQUIRE(cudaEventRecord(mark, stream) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  gate.open();
  REQUIRE(cudaEventSynchronize(mark) == cudaSuccess);
  CHECK(values_of(x) == std::vector<float>(kCount, 6.0F));
  CHECK(cudaEventDestroy(mark) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(mark, blocking) == cudaErrorInvalidResourceHandle);
  CHECK(test::fill(x, 1.0F, kCount, stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
}

// So does CUDA's driver, whose handles are addresses. A program that goes by a destroyed handle meets the new stream.
TEST_CASE_METHOD(Fixture, "A new stream has the handle of the one destroyed last, though that one still works",
                 "[emulator]") {
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t mark = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreate(&mark) == cudaSuccess);
  Gate gate;
  gate.close(first);
  REQUIRE(test::fill(x, 6.0F, kCount, first) == cudaSuccess);
  REQUIRE(cudaEventRecord(mark, first) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(first) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking) == cudaSuccess);
  CHECK(second == first);
  CHECK(cudaStreamQuery(second) == cudaSuccess);
  CHECK(cudaEventQuery(mark) == cudaErrorNotReady);
  gate.open();
  REQUIRE(cudaEventSynchronize(mark) == cudaSuccess);
  CHECK(values_of(x) == std::vector<float>(kCount, 6.0F));
  const cudaEvent_t destroyed = mark;
  CHECK(cudaEventDestroy(mark) == cudaSuccess);
  REQUIRE(cudaEventCreate(&mark) == cudaSuccess);
  CHECK(mark == destroyed);
  CHECK(cudaEventQuery(mark) == cudaSuccess);
  CHECK(cudaEventDestroy(mark) == cudaSuccess);
  CHECK(cudaStreamDestroy(second) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "Streams tell what they were created with", "[emulator]") {
  unsigned flags = 99;
  int priority = 99;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1) == cudaSuccess);
  CHECK(cudaStreamGetFlags(stream, &flags) == cudaSuccess);
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
  CHECK(flags == cudaStreamNonBlocking);
  CHECK(priority == -1);
  CHECK(cudaStreamCreateWithFlags(&stream, 12) == cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  int least = 0, greatest = 0;
  REQUIRE(cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess);
  for (const int beyond : {least + 1, greatest - 1}) {
    REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, beyond) == cudaSuccess);
    CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
    CHECK(priority == (beyond > least ? least : greatest));
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  }
}

TEST_CASE_METHOD(Fixture, "A graph runs what was captured, as often as it is launched, and the capture runs nothing",
                 "[emulator]") {
  std::vector<float> host(kCount, 5.0F);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamCaptureStatus status{};
  REQUIRE(test::fill(x, 1.0F, kCount, blocking) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamIsCapturing(blocking, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(test::add(x, 2.0F, kCount, 1, blocking) == cudaSuccess);
  CHECK(cudaMemcpyAsync(host.data(), x, kBytes, cudaMemcpyDeviceToHost, blocking) == cudaSuccess);
  CHECK(cudaMemcpyAsync(y, host.data(), kBytes, cudaMemcpyHostToDevice, blocking) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(blocking, &graph) == cudaSuccess);
  CHECK(cudaStreamIsCapturing(blocking, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);
  CHECK(host == std::vector<float>(kCount, 5.0F));
  REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  for (int launch = 1; launch <= 3; ++launch) {
    REQUIRE(cudaGraphLaunch(executable, free_running) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(free_running) == cudaSuccess);
    CHECK(host == std::vector<float>(kCount, 1.0F + 2.0F * static_cast<float>(launch)));
  }
  std::vector<float> copied(kCount);
  CHECK(cudaMemcpy(copied.data(), y, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(copied == host);  // the copy to the device read host memory when the graph ran, not when it was captured
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, blocking) == cudaErrorInvalidValue);
  CHECK(cudaGraphDestroy(graph) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "Launches of one executable graph follow one another, in whatever streams", "[emulator]") {
  Gate gate;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStream_t other = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(test::fill(x, 1.0F, kCount, other) == cudaSuccess);
  REQUIRE(test::add(x, 2.0F, kCount, 1, other) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(other, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
  gate.close(free_running);
  REQUIRE(cudaGraphLaunch(executable, free_running) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, other) == cudaSuccess);
  REQUIRE(test::fill(y, 1.0F, kCount, blocking) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);  // issued later: whatever could run before it has
  CHECK(cudaStreamQuery(other) == cudaErrorNotReady);
  gate.open();
  CHECK(cudaStreamSynchronize(other) == cudaSuccess);
  CHECK(cudaStreamQuery(free_running) == cudaSuccess);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(other) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "A capture ends with the stream in which it began", "[emulator]") {
  cudaStream_t captured = nullptr;
  REQUIRE(cudaStreamCreate(&captured) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(test::fill(x, 1.0F, kCount, captured) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(captured) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaMemset(x, 0, kBytes) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "A capture ends with the thread whose default stream it began in", "[emulator]") {
  cudaError_t begun = cudaErrorUnknown;
  std::thread([&] { begun = cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed); }).join();
  CHECK(begun == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaMemset(x, 0, kBytes) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "The default stream cannot join a capture", "[emulator]") {
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(free_running, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, free_running) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(nullptr, event) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamEndCapture(free_running, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "A call that a capture cannot hold is an error and ends it", "[emulator]") {
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status{};
  const auto begin = [&] { REQUIRE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal) == cudaSuccess); };
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureUnmatched);
  begin();
  CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal) == cudaErrorInvalidValue);
  CHECK(cudaStreamSynchronize(blocking) == cudaErrorStreamCaptureUnsupported);
  CHECK(test::fill(x, 1.0F, kCount, blocking) == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  begin();
  CHECK(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  begin();
  CHECK(cudaMemset(x, 0, kBytes) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  begin();
  CHECK(cudaEventRecord(event, nullptr) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamIsCapturing(blocking, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusInvalidated);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  begin();
  const auto callback = [](cudaStream_t, cudaError_t, void*) {};
  CHECK(cudaStreamAddCallback(blocking, callback, nullptr, 0) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  begin();
  CHECK(cudaStreamIsCapturing(nullptr, &status) == cudaErrorStreamCaptureImplicit);  // and harms nothing
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  begin();
  CHECK(cudaEventRecord(event, blocking) == cudaSuccess);
  CHECK(cudaEventSynchronize(event) == cudaErrorCapturedEvent);
  CHECK(cudaStreamWaitEvent(free_running, event) == cudaSuccess);
  CHECK(test::fill(x, 1.0F, kCount, free_running) == cudaSuccess);
  CHECK(cudaStreamEndCapture(free_running, &graph) == cudaErrorStreamCaptureUnmatched);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureUnjoined);
  CHECK(cudaStreamWaitEvent(free_running, event) == cudaErrorStreamCaptureIsolation);
  CHECK(cudaEventRecord(event, free_running) == cudaSuccess);
  begin();
  CHECK(cudaStreamWaitEvent(blocking, event) == cudaErrorStreamCaptureIsolation);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "Streams can be used from several threads at once", "[emulator]") {
  std::vector<std::thread> threads;
  std::atomic<int> errors{0};
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&errors] {
      float* mine = nullptr;
      cudaStream_t stream = nullptr;
      std::vector<float> seen(kCount);
      errors += cudaMalloc(&mine, kBytes) != cudaSuccess;
      errors += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
      errors += test::fill(mine, 0.0F, kCount, stream) != cudaSuccess;
      for (int round = 0; round < 50; ++round) errors += test::add(mine, 1.0F, kCount, 1, stream) != cudaSuccess;
      errors += cudaMemcpyAsync(seen.data(), mine, kBytes, cudaMemcpyDeviceToHost, stream) != cudaSuccess;
      errors += seen != std::vector<float>(kCount, 50.0F);
      errors += cudaStreamDestroy(stream) != cudaSuccess;
      errors += cudaFree(mine) != cudaSuccess;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(errors == 0);
}
