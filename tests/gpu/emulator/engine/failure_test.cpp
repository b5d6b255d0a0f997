#include <stdexcept>
#include <string>
#include <vector>

#include "emulator/engine/observer.hpp"
#include "run_kernel.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

/// Whatever has happened, the next kernel runs.
void check_next_kernel() {
  int count = 0;
  const KernelResult result = run(2, 64, [&] {
    __syncthreads();
    ++count;
  });
  CHECK(result.is_ok);
  CHECK(count == 128);
}

/// Keeps what the engine finds.
class Recorder final : public Observer {
 public:
  Recorder() : before_(set_observer(this)) {}
  ~Recorder() override { set_observer(before_); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  std::vector<EngineFinding> findings;
  std::vector<std::string> events;
  std::string failure;  // thrown by block_begin(), unless it is empty

  void launch_begin(const KernelCall&, int) override { events.emplace_back("launch_begin"); }
  void launch_end() override { events.emplace_back("launch_end"); }
  void block_begin(const BlockState&) override {
    events.emplace_back("block_begin");
    if (!failure.empty()) throw std::runtime_error(failure);
  }
  void block_end() override { events.emplace_back("block_end"); }
  void thread_begin(const ThreadState&) override { events.emplace_back("thread_begin"); }
  void thread_end(const ThreadState&) override { events.emplace_back("thread_end"); }
  void barrier_passed() override { events.emplace_back("barrier_passed"); }
  void warp_met(std::uint32_t, std::uint32_t) override { events.emplace_back("warp_met"); }
  void fence(bool) override { events.emplace_back("fence"); }
  void atomic(const void*, std::size_t, const void*, SourcePlace) override { events.emplace_back("atomic"); }
  void access(const void*, std::size_t, bool, SourcePlace) override { events.emplace_back("access"); }
  void copy_async_issued(void*, const void*, std::size_t, SourcePlace) override { events.emplace_back("issued"); }
  void copy_async_landed(void*, const void*, std::size_t, std::size_t, SourcePlace) override {
    events.emplace_back("landed");
  }
  void finding(const EngineFinding& finding) override { findings.push_back(finding); }

 private:
  Observer* before_;
};

[[maybe_unused]] int overflow_stack(int depth) {
  volatile char frame[1000];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? frame[0] : overflow_stack(depth + 1) + frame[0];
}

}  // namespace

TEST_CASE("A barrier that one thread never reaches while it waits elsewhere is a deadlock with places", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    const KernelResult result = run(1, 64, [] {
      if (threadIdx.x == 5)
        __syncwarp();
      else
        __syncthreads();
    });
    CHECK_FALSE(result.is_ok);
    CHECK(result.error == cudaErrorLaunchFailure);
    CHECK_THAT(result.message, ContainsSubstring("deadlock: none of 64 threads can go on"));
    CHECK_THAT(result.message, ContainsSubstring("thread (5,0,0) waits in __syncwarp with mask 0xffffffff at "));
    CHECK_THAT(result.message,
               ContainsSubstring("waits in __syncthreads at ") && ContainsSubstring("failure_test.cpp:"));
    check_next_kernel();
  }
}

TEST_CASE("Lanes that give different masks or call different functions do not meet", "[emulator]") {
  const KernelResult masks = run(1, 32, [] { __syncwarp(threadIdx.x == 0 ? 0x3U : ~0U); });
  CHECK_THAT(masks.message, ContainsSubstring("deadlock") && ContainsSubstring("mask 0x00000003"));
  const KernelResult functions = run(1, 32, [] {
    if (threadIdx.x < 16)
      static_cast<void>(__ballot_sync(~0U, 1));
    else
      static_cast<void>(__any_sync(~0U, 1));
  });
  CHECK_THAT(functions.message, ContainsSubstring("__ballot_sync") && ContainsSubstring("__any_sync"));
  check_next_kernel();
}

TEST_CASE("A lane that its own mask lacks ends the kernel", "[emulator]") {
  const Recorder recorder;
  const KernelResult result = run(1, 32, [] { __syncwarp(0x0000ffff); });
  CHECK_FALSE(result.is_ok);
  CHECK_THAT(result.message,
             ContainsSubstring("lane 16 calls __syncwarp with mask 0x0000ffff, which lacks its own bit"));
  REQUIRE(recorder.findings.size() == 1);
  CHECK(recorder.findings[0].kind == EngineFindingKind::kWrongMask);
}

TEST_CASE("Exceptions of a kernel are its result", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    const KernelResult result = run(3, 64, [] {
      if (threadIdx.x == 40) throw std::runtime_error("no such thing");
      __syncthreads();
    });
    CHECK_FALSE(result.is_ok);
    CHECK_THAT(result.message, ContainsSubstring("no such thing"));
    CHECK_FALSE(run(1, 1, [] { throw 5; }).is_ok);
    check_next_kernel();
  }
}

// Under sanitizers such mistakes are theirs to report, and end the process.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("A stack overflow, a wild pointer and a division by zero end the kernel, not the process", "[emulator]") {
  const KernelResult overflow = run(1, 33, [] {
    __syncthreads();
    if (threadIdx.x == 32) static_cast<void>(overflow_stack(1));
  });
  CHECK_FALSE(overflow.is_ok);
  CHECK_THAT(overflow.message, ContainsSubstring("stack overflow") && ContainsSubstring("thread (32,0,0)"));
  check_next_kernel();
  const KernelResult wild = run(1, 2, [] {
    volatile int* nowhere = nullptr;
    if (threadIdx.x == 1) *nowhere = 5;
  });
  CHECK(wild.error == cudaErrorIllegalAddress);
  CHECK_THAT(wild.message, ContainsSubstring("illegal address") && ContainsSubstring("thread (1,0,0)"));
  check_next_kernel();
#if defined(__x86_64__)  // other processors give a number
  const KernelResult division = run(1, 1, [] {
    volatile int seven = 7, zero = 0;
    volatile int result = seven / zero;
    static_cast<void>(result);
  });
  CHECK_FALSE(division.is_ok);
  CHECK_THAT(division.message, ContainsSubstring("division by zero"));
  check_next_kernel();
#endif
}

#endif

TEST_CASE("__trap ends the kernel", "[emulator]") {
  const KernelResult result = run(2, 64, [] {
    if (threadIdx.x == 3) __trap();
    __syncthreads();
  });
  CHECK_FALSE(result.is_ok);
  CHECK_THAT(result.message, ContainsSubstring("__trap"));
  check_next_kernel();
}

TEST_CASE("Barriers of different lines, and threads that have ended before one, are found and passed", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    Recorder recorder;
    const KernelResult lines = run(2, 64, [] {
      if (threadIdx.x < 32)
        __syncthreads();
      else
        __syncthreads();
    });
    CHECK(lines.is_ok);
    REQUIRE(recorder.findings.size() == 1);  // once per launch
    CHECK(recorder.findings[0].kind == EngineFindingKind::kDivergentBarrier);
    REQUIRE(recorder.findings[0].threads.size() == 2);
    const unsigned first = recorder.findings[0].threads[0].place.line,
                   second = recorder.findings[0].threads[1].place.line;
    CHECK((first > second ? first - second : second - first) == 2);
    const KernelResult ended = run(1, 64, [] {
      if (threadIdx.x == 63) return;
      __syncthreads();
    });
    CHECK(ended.is_ok);
    REQUIRE(recorder.findings.size() == 2);
    CHECK(recorder.findings[1].kind == EngineFindingKind::kBarrierAfterExit);
    CHECK_THAT(recorder.findings[1].message, ContainsSubstring("1 of 64 threads"));
  }
}

TEST_CASE("Observers hear of everything in order", "[emulator]") {
  Recorder recorder;
  static int counter = 0;
  const KernelResult result = run(1, 1, [] {
    atomicAdd(&counter, 1);
    __threadfence();
    __syncwarp();
    __syncthreads();
  });
  CHECK(result.is_ok);
  CHECK(recorder.events == std::vector<std::string>{"launch_begin", "block_begin", "thread_begin", "atomic", "fence",
                                                    "warp_met", "barrier_passed", "thread_end", "block_end",
                                                    "launch_end"});
}

TEST_CASE("An observer that has seen enough ends the kernel", "[emulator]") {
  int passed = 0;
  const KernelResult result = run(100, 32, [&] {
    if (threadIdx.x == 0 && blockIdx.x == 3) stop_kernel("enough");
    __syncthreads();
    ++passed;
  });
  CHECK_FALSE(result.is_ok);
  CHECK(result.message == "enough");
  CHECK(passed == 3 * 32);
}

TEST_CASE("A failure of the emulator itself ends the kernel, and the launch of its observer", "[emulator]") {
  {
    Recorder recorder;
    recorder.failure = "no memory is left";
    const KernelResult result = run(2, 32, [] {});
    CHECK_FALSE(result.is_ok);
    CHECK(result.message.find("no memory is left") != std::string::npos);
    CHECK(result.message.find("block (0,0,0)") != std::string::npos);
    CHECK(recorder.events == std::vector<std::string>{"launch_begin", "block_begin", "block_end", "launch_end"});
  }
  check_next_kernel();
}

TEST_CASE("Reading a lane that takes no part is found", "[emulator]") {
  const Recorder recorder;
  const KernelResult result = run(1, 32, [] {
    if (threadIdx.x < 16) static_cast<void>(__shfl_down_sync(0x0000ffffU, 1.0F, 8));
  });
  CHECK(result.is_ok);
  REQUIRE(recorder.findings.size() == 8);
  CHECK(recorder.findings[0].kind == EngineFindingKind::kUndefinedLane);
}
