// The scheduler under many threads at once. Compiled together with the sources it tests, so that the thread sanitizer
// sees them: it is not in liblockstep_emulator.so.
#include "emulator/runtime/scheduler.hpp"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace lockstep::emulator {
namespace {

constexpr int kThreads = 4, kOperations = 200;

// The scheduler for one test, whose threads end with it.
struct FreshScheduler {
  FreshScheduler() = default;
  FreshScheduler(const FreshScheduler&) = delete;
  FreshScheduler& operator=(const FreshScheduler&) = delete;
  ~FreshScheduler() {
    for (const int device : {0, 1, 2}) scheduler.reset(device);
  }

  Scheduler& scheduler = Scheduler::instance();
};

Operation counting(std::vector<int>& seen, int number) {
  Operation operation;
  operation.name = "test";
  operation.run = [&seen, number] {
    seen.push_back(number);  // unguarded: operations of one stream must not overlap, nor their writes be unseen
    return cudaSuccess;
  };
  return operation;
}

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST_CASE("streams filled by several threads keep their order", "[emulator]") {
  const FreshScheduler fresh;
  Scheduler& scheduler = fresh.scheduler;
  std::vector<std::vector<int>> seen(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const auto queue = scheduler.open(t % 2, StreamKind::kNonBlocking, 0);
        for (int i = 0; i < kOperations; ++i) scheduler.enqueue(queue, counting(seen[static_cast<std::size_t>(t)], i));
        scheduler.wait(scheduler.tail(queue));
        scheduler.close(queue);
      });
    }
  }
  for (const std::vector<int>& numbers : seen) CHECK(numbers == first_numbers(kOperations));
}

// CUDA Runtime API, cudaErrorUnknown: an internal error; like any failure of a kernel it stays until cudaDeviceReset.
TEST_CASE("an operation that throws makes its device fail, and the process goes on", "[emulator]") {
  const FreshScheduler fresh;
  Scheduler& scheduler = fresh.scheduler;
  std::vector<int> seen;
  for (const bool is_host_function : {false, true}) {
    const auto stream = scheduler.open(0, StreamKind::kNonBlocking, 0);
    Operation throwing;
    throwing.name = "a test's operation";
    throwing.is_host_function = is_host_function;
    throwing.run = []() -> cudaError_t { throw std::runtime_error("no memory is left"); };
    scheduler.enqueue(stream, std::move(throwing));
    scheduler.enqueue(stream, counting(seen, 1));
    scheduler.wait(scheduler.tail(stream));
    CHECK(scheduler.failure(0) == cudaErrorUnknown);
    CHECK(seen.empty());
    CHECK(scheduler.failure(1) == cudaSuccess);
    scheduler.reset(0);
    CHECK(scheduler.failure(0) == cudaSuccess);
  }
}

TEST_CASE("two streams that wait for each other's points take turns", "[emulator]") {
  const FreshScheduler fresh;
  Scheduler& scheduler = fresh.scheduler;
  const auto left = scheduler.open(0, StreamKind::kNonBlocking, 0),
             right = scheduler.open(1, StreamKind::kNonBlocking, 0);
  std::vector<int> seen;
  Point last;
  for (int i = 0; i < kOperations; ++i) {
    Operation operation = counting(seen, i);
    operation.waits = {last};
    last = scheduler.enqueue(i % 2 == 0 ? left : right, std::move(operation));
  }
  scheduler.wait(last);
  CHECK(scheduler.is_reached(last));
  CHECK(seen == first_numbers(kOperations));
  scheduler.close(left);
  scheduler.close(right);
}

TEST_CASE("a host function may wait for what another stream does later", "[emulator]") {
  const FreshScheduler fresh;
  Scheduler& scheduler = fresh.scheduler;
  const auto waiting = scheduler.open(0, StreamKind::kNonBlocking, 0),
             other = scheduler.open(0, StreamKind::kNonBlocking, 0);
  std::atomic<bool> is_set{false};
  Operation wait_for_flag;
  wait_for_flag.is_host_function = true;
  wait_for_flag.run = [&] {
    is_set.wait(false);
    return cudaSuccess;
  };
  scheduler.enqueue(waiting, std::move(wait_for_flag));
  Operation set_flag;
  set_flag.run = [&] {
    is_set = true;
    is_set.notify_all();
    return cudaSuccess;
  };
  scheduler.enqueue(other, std::move(set_flag));
  scheduler.wait_device(0);
  CHECK(scheduler.failure(0) == cudaSuccess);
  scheduler.close(waiting);
  scheduler.close(other);
}

TEST_CASE("a device is reset while other threads ask about its streams", "[emulator]") {
  const FreshScheduler fresh;
  Scheduler& scheduler = fresh.scheduler;
  std::vector<int> seen;
  const auto queue = scheduler.open(2, StreamKind::kBlocking, 0);
  for (int i = 0; i < kOperations; ++i) scheduler.enqueue(queue, counting(seen, i));
  const Point end = scheduler.tail(queue);
  {
    std::jthread asking([&] {
      while (!scheduler.is_reached(end)) std::this_thread::yield();
    });
    scheduler.reset(2);
  }
  CHECK(seen == first_numbers(kOperations));
  CHECK(scheduler.failure(2) == cudaSuccess);
}

}  // namespace
}  // namespace lockstep::emulator
