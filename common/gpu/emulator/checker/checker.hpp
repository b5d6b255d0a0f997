#pragma once
/// @file
/// Checked mode: follows all accesses and synchronization of a kernel's threads.
#include <mutex>
#include <string>
#include <vector>

#include "emulator/checker/access_reports.hpp"
#include "emulator/checker/happens_before.hpp"
#include "emulator/checker/jobs.hpp"
#include "emulator/checker/memory_map.hpp"
#include "emulator/checker/metrics_counter.hpp"
#include "emulator/checker/proxy_fences.hpp"
#include "emulator/checker/source_names.hpp"
#include "emulator/checker/stream_checks.hpp"
#include "emulator/checker/stream_order.hpp"
#include "emulator/engine/observer.hpp"

namespace lockstep::emulator::checker {

/// The observer of checked mode. One kernel at a time: launch_begin() takes a lock that launch_end() releases; the
/// host's calls (with_memory(), with_metrics()) wait for it.
class Checker final : public Observer {
 public:
  /// The instance of this process; made at the first call and never destroyed.
  static Checker& instance();

  /// The checker while a launch runs on this host thread, else null: the first thing that compiler hooks test. Other
  /// host threads may run instrumented code while a kernel runs.
  [[gnu::tls_model("initial-exec")]] static thread_local Checker* running;

  void launch_begin(const KernelCall& call, int device) override;
  void launch_end() override;
  void block_begin(const BlockState& block) override;
  void block_resumed(const BlockState& block, std::span<const std::span<std::byte>> variables) override;
  void block_end() override;
  void barrier_passed() override;
  void warp_met(std::uint32_t warp, std::uint32_t mask) override;
  void fence(bool is_whole_device) override;
  void atomic(const void* address, std::size_t bytes, const void* expected, SourcePlace place) override;
  void access(const void* address, std::size_t bytes, bool is_write, SourcePlace place) override;
  void copy_async_issued(void* to, const void* from, std::size_t bytes, SourcePlace place) override;
  void copy_async_landed(void* to, const void* from, std::size_t bytes, std::size_t read_bytes,
                         SourcePlace place) override;
  void phase_barrier(const void* barrier, BarrierStep step, SourcePlace place) override;
  void tile_row_landed(void* to, std::size_t bytes, const void* from, std::size_t read_bytes,
                       SourcePlace place) override;
  void async_read(const void* address, std::size_t bytes, SourcePlace place) override;
  void fence_async_proxy() override;
  void finding(const EngineFinding& finding) override;

  /// An access of the current thread. @param flags  AccessFlags. @param site  Place of the access.
  void check(const void* address, std::size_t bytes, std::uint64_t flags, Site site);
  /// An atomic of the current thread, from a compiler hook. @param releases  Its memory order publishes earlier
  /// accesses. @param expected  Of a compare-and-swap: without these bytes it only reads. Else null.
  void check_atomic(const void* address, std::size_t bytes, bool releases, std::uint64_t flags, Site site,
                    const void* expected = nullptr);
  /// A compiler's own check (-fsanitize=bounds,alignment,signed-integer-overflow) failed. Its consequences
  /// are not reported: the access on the same line, or, after an overflow, the thread's accesses to wrong addresses.
  void compiler_found(FindingKind kind, const char* action, FindingPlace place, const std::string& detail);

  /// Of the kernel that runs on this host thread.
  [[nodiscard]] const std::string& kernel_name() { return names_.kernel(); }

  /// Calls `use(memory)` under the lock, for the host's own calls. @param use  Takes a MemoryMap&.
  template <typename Use>
  void with_memory(const Use& use) {
    const std::scoped_lock lock(mutex_);
    use(memory_);
  }
  /// Calls `use(checks)` under the lock. @param use  Takes a StreamChecks&.
  template <typename Use>
  void with_streams(const Use& use) {
    const std::scoped_lock lock(mutex_);
    use(stream_checks_);
  }
  /// Calls `use(counter, names)` under the lock. @param use  Takes a MetricsCounter& and a SourceNames&. @return  Its
  /// result.
  template <typename Use>
  auto with_metrics(const Use& use) {
    const std::scoped_lock lock(mutex_);
    return use(counter_, names_);
  }

 private:
  Checker() = default;
  void start_over();
  void stop_if_exhausted();
  [[nodiscard]] bool differs(const void* address, std::size_t bytes, const void* expected, const ThreadState& thread);
  void check_unfinished_sum(const ThreadState& thread, const void* address, std::uint64_t flags, Site site);

  std::recursive_mutex mutex_;
  Jobs jobs_;  // of the running launch
  HappensBefore order_;
  StreamOrder streams_;
  ProxyFences proxy_fences_;
  MemoryMap memory_;
  SourceNames names_;
  AccessReports reports_{order_, streams_, memory_, names_};
  StreamChecks stream_checks_{order_, streams_, memory_, reports_};
  MetricsCounter counter_;
  const ThreadState* skipped_ = nullptr;  // its access at skipped_at_ has already been reported
  FindingPlace skipped_at_;
  std::vector<bool> has_overflowed_;  // by thread of the block; empty: none
};

}  // namespace lockstep::emulator::checker
