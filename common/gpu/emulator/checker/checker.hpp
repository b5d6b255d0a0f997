#pragma once
/// @file
/// Checked mode: follows every access and every meeting of a kernel's threads.
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "emulator/checker/finding_log.hpp"
#include "emulator/checker/memory_map.hpp"
#include "emulator/checker/metrics.hpp"
#include "emulator/checker/metrics_counter.hpp"
#include "emulator/checker/sites.hpp"
#include "emulator/checker/symbolizer.hpp"
#include "emulator/engine/observer.hpp"

namespace lockstep::emulator::checker {

/// The observer of checked mode. One kernel at a time: launch_begin() takes a lock that launch_end() gives back, and
/// that the host's calls (host_wrote() and relatives) wait for.
class Checker final : public Observer {
 public:
  /// The one of this process, made at the first call and never destroyed.
  static Checker& instance();

  /// The checker while a launch runs on this host thread, else null: what the compilers' hooks look at first. Other
  /// host threads run instrumented code too while a kernel runs.
  [[gnu::tls_model("initial-exec")]] static thread_local Checker* running;

  /// Which of its two jobs it does.
  struct alignas(2) Jobs {  // both bytes at once; aligned to one, clang would call libatomic
    bool rules = false;     ///< Find bugs.
    bool metrics = false;   ///< Count requests.
  };
  /// From the next launch on.
  void set_jobs(Jobs jobs) noexcept { asked_jobs_ = jobs; }
  /// As set.
  [[nodiscard]] Jobs jobs() const noexcept { return asked_jobs_; }

  void launch_begin(const KernelCall& call, int device) override;
  void launch_end() override;
  void block_begin(const BlockState& block) override;
  void block_end() override;
  void thread_begin(const ThreadState& thread) override;
  void thread_end(const ThreadState& thread) override;
  void barrier_passed() override;
  void warp_met(std::uint32_t warp, std::uint32_t mask) override;
  void fence(bool is_whole_device) override;
  void atomic(const void* address, std::size_t bytes, SourcePlace place) override;
  void access(const void* address, std::size_t bytes, bool is_write, SourcePlace place) override;
  void copy_async_issued(void* to, const void* from, std::size_t bytes, SourcePlace place) override;
  void copy_async_landed(void* to, const void* from, std::size_t bytes, std::size_t read_bytes,
                         SourcePlace place) override;
  void finding(const EngineFinding& finding) override;

  /// An access of the current thread. @param flags  AccessFlags. @param site  Where.
  void check(const void* address, std::size_t bytes, std::uint64_t flags, Site site);
  /// An atomic of the current thread by a compiler's hook. @param releases  Its order publishes what came before.
  void check_atomic(const void* address, std::size_t bytes, bool releases, std::uint64_t flags, Site site);
  /// What a compiler's own check (-fsanitize=bounds,alignment) noticed about the access that comes next.
  void compiler_found(FindingKind kind, const char* action, FindingPlace place, const std::string& detail);

  /// Calls `use(target)` with the shadow of memory that the host's own calls use, under the lock.
  template <typename Use>
  void with_host_target(const void* address, const Use& use) {
    const std::scoped_lock lock(mutex_);
    const Target target = memory_.find_for_host(address);
    if (target.shadow != nullptr) use(target);
  }
  /// Host memory that kernels may use. @param bytes  0: no more.
  void set_host_memory(const void* begin, std::size_t bytes);
  /// A fault of host code, or of a kernel's code that is not instrumented.
  void report_fault(const void* address, const void* pc);

  /// Requests so far.
  std::vector<MetricsRow> metrics();
  /// Forgets them.
  void clear_metrics();

 private:
  Checker() = default;
  void report_access(const Target& target, const void* address, const Access& access, const Verdict& verdict);
  void report_target(FindingKind kind, const void* address, const Access& access, const std::string& detail);
  void report(FindingKind kind, const Access& access, const Access* with, const std::string& detail);
  Finding finding_of(FindingKind kind, const Access& access, const Access* with, const std::string& detail);
  void suspect_uninitialised(const Target& target, const void* address, const Access& access);
  void explain_by_race(const Access& one, const Access& other);
  void report_suspects(bool with_global);
  void hold_race(const Access& access, const Access& with, const std::string& detail);
  void report_held_races();
  bool is_known(FindingKind kind, Site site, Site with);
  [[nodiscard]] bool is_wrong_address(const Target& target, const void* address, std::size_t bytes,
                                      const Access& access);
  [[nodiscard]] FindingSide side_of(const Access& access);
  [[nodiscard]] FindingPlace place_of(Site site);
  [[nodiscard]] std::string kernel_name();

  struct Suspect {
    Finding finding;
    bool is_shared = false;
  };
  struct Key {
    FindingKind kind;
    Site site;
    Site with;
    bool operator==(const Key&) const noexcept = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return (key.site * 31 + key.with) * 31 + static_cast<std::size_t>(key.kind);
    }
  };

  std::recursive_mutex mutex_;
  std::atomic<Jobs> asked_jobs_{Jobs{}};
  Jobs jobs_;  // of the running launch
  HappensBefore order_;
  MemoryMap memory_;
  Sites sites_;
  Symbolizer symbolizer_;
  MetricsCounter counter_;
  const KernelCall* call_ = nullptr;
  std::string kernel_name_;  // of call_, once asked for
  // Reads of unwritten memory, by site. A thread that overtakes the writer it should have waited for sees them too: the
  // write then tells that it is a race. So they wait for the end of the block (shared memory) or of the launch.
  std::unordered_map<Site, Suspect> suspects_;
  std::unordered_set<Site> explained_;    // sites whose uninitialised reads are races
  const ThreadState* skipped_ = nullptr;  // what it accesses at skipped_at_ has been reported already
  FindingPlace skipped_at_;
  // Races within the running block, in the order they were seen. If its threads turn out to have missed each other at a
  // barrier, that is the cause and is reported first.
  std::vector<std::pair<Key, Finding>> held_races_;
  bool has_divergent_barrier_ = false;                   // in this launch
  std::unordered_map<Key, std::size_t, KeyHash> known_;  // -> index in the log
  std::uint64_t known_generation_ = 0;                   // of the log
};

}  // namespace lockstep::emulator::checker
