#pragma once
/// @file
/// Turns faulty accesses into reports for students.
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "emulator/checker/cell.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/checker/memory_map.hpp"
#include "emulator/checker/source_names.hpp"
#include "emulator/checker/stream_order.hpp"

namespace lockstep::emulator::checker {

/// Adds faulty accesses of a kernel to the FindingLog, causes before consequences: an uninitialised read is held back
/// until the race that may explain it, a race within a block until the barrier at which threads may have missed each
/// other.
///
/// Thread safety: none; guarded by the checker's lock.
class AccessReports {
 public:
  /// All arguments must outlive this.
  AccessReports(const HappensBefore& order, const StreamOrder& streams, const MemoryMap& memory, SourceNames& names)
      : order_(order), streams_(streams), memory_(memory), names_(names) {}

  void launch_begin() noexcept { has_divergent_barrier_ = false; }
  /// Threads of this launch have missed each other at a barrier.
  void note_divergent_barrier() noexcept { has_divergent_barrier_ = true; }
  /// Reports findings that were held until the end of the block.
  void block_end();
  /// Reports the remaining findings.
  void launch_end();

  /// An access to an invalid address: kNullPointer, kHostPointer, kOutOfBounds, kUseAfterFree or kMisaligned.
  void wrong_address(FindingKind kind, const Target& target, const void* address, std::size_t bytes,
                     const Access& access);
  /// An access that violates a rule for its memory.
  void broken_rule(const Target& target, const void* address, const Access& access, const Verdict& verdict);
  /// An access of a launch that nothing orders with another operation on the same byte. @param launch  Contains it.
  void unordered_with(const StreamAccess& other, const StreamOperation& launch, const void* address,
                      const Access& access);
  /// A tensor core reads what a thread wrote without a fence for it.
  void missing_fence(const Target& target, const void* address, const Access& access, const Access& write);

 private:
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

  [[nodiscard]] std::string wrong_address_text(FindingKind kind, const Target& target, const void* address,
                                               std::size_t bytes) const;
  void suspect_uninitialised(const Target& target, const void* address, const Access& access);
  void explain_by_race(const Access& one, const Access& other);
  void report_suspects(bool with_global);
  void unordered_launches(const void* address, const Access& access, const Access& with);
  void hold_race(const Access& access, const Access& with, const std::string& detail);
  bool is_known(const Key& key);
  [[nodiscard]] Finding finding_of(FindingKind kind, const Access& access, const Access* with,
                                   const std::string& detail);
  [[nodiscard]] FindingSide side_of(const Access& access);

  const HappensBefore& order_;
  const StreamOrder& streams_;
  const MemoryMap& memory_;
  SourceNames& names_;
  // Reads of unwritten memory, by site. They may be races: a thread overtakes the writer that it should have waited
  // for, and only the later write shows it. So they are held until the end of the block (shared memory) or of the
  // launch.
  std::unordered_map<Site, Suspect> suspects_;
  std::unordered_set<Site> explained_;  // sites whose uninitialised reads are races
  // Races within the running block, in the order seen. If its threads turn out to have missed each other at a barrier,
  // that is the cause and is reported first.
  std::vector<std::pair<Key, Finding>> held_races_;
  bool has_divergent_barrier_ = false;                   // in this launch
  std::unordered_map<Key, std::size_t, KeyHash> known_;  // -> index in the log
  std::uint64_t known_generation_ = 0;                   // of the log
};

}  // namespace lockstep::emulator::checker
