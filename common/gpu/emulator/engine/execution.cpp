#include "emulator/engine/execution.hpp"

#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "emulator/engine/block_runner.hpp"
#include "emulator/engine/fault_guard.hpp"
#include "emulator/engine/settings.hpp"

namespace lockstep::emulator {

namespace {

std::mutex& execution_lock() {
  static auto* const kLock = new std::mutex;  // never destroyed: executors may outlive static objects
  return *kLock;
}

std::atomic<Observer*> current_observer = nullptr;

std::atomic<std::uint64_t>& seed_setting() {
  static std::atomic<std::uint64_t> setting = settings().order_seed;
  return setting;
}

/// The order of a launch's blocks: steps of constant length around a circle. Every block is visited once because the
/// step length and the block count are coprime.
class BlockOrder {
 public:
  BlockOrder(std::uint64_t blocks, std::uint64_t seed) : count_(blocks) {
    if (seed == 0 || blocks < 2) return;
    next_ = seed == 1 ? blocks - 1 : mix64(seed, blocks) % blocks;
    step_ = seed == 1 ? blocks - 1 : mix64(blocks, seed) % blocks;
    while (std::gcd(step_, blocks) != 1) ++step_;
  }
  std::uint64_t take() noexcept { return std::exchange(next_, (next_ + step_) % count_); }

 private:
  std::uint64_t count_, next_ = 0, step_ = 1;
};

/// Calls visit(blockIdx, rank) for each block, in the seed's order, until it returns false.
template <typename Visit>
void for_each_block(const KernelCall& call, std::uint64_t seed, Visit visit) {
  const std::uint64_t width = call.grid.x, layer = width * call.grid.y, count = layer * call.grid.z;
  BlockOrder order(count, seed);
  for (std::uint64_t index = 0; index < count; ++index) {
    const std::uint64_t block = order.take();
    const uint3 block_idx{static_cast<unsigned>(block % width), static_cast<unsigned>(block % layer / width),
                          static_cast<unsigned>(block / layer)};
    if (!visit(block_idx, block)) return;
  }
}

/// A launch as an observer sees it. It ends even if an exception leaves it: an observer may hold a lock meanwhile.
class WatchedLaunch {
 public:
  WatchedLaunch(Observer* observer, const KernelCall& call, int device) : observer_(observer) {
    if (observer_ != nullptr) observer_->launch_begin(call, device);
  }
  WatchedLaunch(const WatchedLaunch&) = delete;
  WatchedLaunch& operator=(const WatchedLaunch&) = delete;
  ~WatchedLaunch() {
    try {
      end();
    } catch (...) {  // the first exception says more
    }
  }
  void end() {
    if (Observer* const ended = std::exchange(observer_, nullptr)) ended->launch_end();
  }
  /// Ends it, and begins the next one of the same kernel.
  void go_on(const KernelCall& call, int device) {
    Observer* const observer = observer_;
    end();
    if (observer == nullptr) return;
    observer->launch_begin(call, device);
    observer_ = observer;
  }

 private:
  Observer* observer_;
};

/// Runs a kernel whose blocks wait for one another: all of them up to the first grid.sync(), then up to the next one,
/// and so on. For an observer each of these phases is a launch, since everything before it is ordered before it.
void run_cooperatively(BlockRunner& runner, const KernelCall& call, std::uint64_t seed, int device,
                       WatchedLaunch& watched) {
  std::vector<SuspendedBlock> waiting;
  std::uint64_t ended = 0;
  const auto note = [&](std::vector<SuspendedBlock>& all, std::optional<SuspendedBlock> block) {
    if (block)
      all.push_back(std::move(*block));
    else
      ++ended;
  };
  for_each_block(call, seed, [&](uint3 block_idx, std::uint64_t linear) {
    note(waiting, runner.run_block(block_idx, linear));
    return !runner.kernel().is_over();
  });
  while (!waiting.empty() && !runner.kernel().is_over()) {
    if (ended > 0) {
      runner.kernel().fail(
          concat("deadlock: ", waiting.size(), " blocks wait in grid.sync(), and ", ended, " have ended without it"));
      return;
    }
    watched.go_on(call, device);
    std::vector<SuspendedBlock> next;
    for (SuspendedBlock& block : waiting) {
      note(next, runner.run_block(block.block_idx, block.linear, &block));
      if (runner.kernel().is_over()) return;
      block = {};
    }
    waiting = std::move(next);
  }
}

}  // namespace

KernelResult execute(const KernelCall& call, int device, FaultRepair repair, SharedVariables variables) {
  std::string message;
  if (const cudaError_t error = check_launch(call, message); error != cudaSuccess) return {false, message, error};
  const std::lock_guard lock(execution_lock());
  BlockRunner& runner = BlockRunner::instance();
  Observer* const observer = current_observer.load();
  const std::uint64_t seed = schedule_seed();
  runner.begin_launch(call, observer, seed);
  WatchedLaunch watched(observer, call, device);
  {
    const FaultGuard guard(repair);
    if (call.is_cooperative) {
      if (variables != nullptr) runner.units().grid_barrier.set_variables(variables(call.function));
      run_cooperatively(runner, call, seed, device, watched);
      runner.units().grid_barrier.set_variables({});
    } else {
      for_each_block(call, seed, [&](uint3 block_idx, std::uint64_t linear) {
        runner.run_block(block_idx, linear);
        return !runner.kernel().is_over();
      });
    }
  }
  watched.end();
  runner.kernel().end();
  return runner.kernel().result();
}

std::uint64_t schedule_seed() { return seed_setting().load(); }
void set_schedule_seed(std::uint64_t seed) { seed_setting().store(seed); }

void stop_kernel(std::string message) {
  RunningKernel& kernel = BlockRunner::instance().kernel();
  kernel.fail(std::move(message));
}

Observer* observer() noexcept { return current_observer.load(); }
Observer* set_observer(Observer* observer) noexcept { return current_observer.exchange(observer); }

}  // namespace lockstep::emulator
