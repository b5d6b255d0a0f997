#include "emulator/checker/access_reports.hpp"

#include "emulator/checker/finding_log.hpp"
#include "emulator/checker/stream_reports.hpp"
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator::checker {
namespace {

// hint_of() searches for these words.
constexpr const char* kAfterDivergence = "; threads of the block missed each other at a barrier";

uint3 thread_index(std::uint32_t linear, const dim3& block) {
  return {linear % block.x, linear / block.x % block.y, linear / (block.x * block.y)};
}

uint3 block_index(std::uint64_t linear, const dim3& grid) {
  return {static_cast<unsigned>(linear % grid.x), static_cast<unsigned>(linear / grid.x % grid.y),
          static_cast<unsigned>(linear / (std::uint64_t{grid.x} * grid.y))};
}

const char* action_of(const Access& access) {
  if (access.is(kAtomic)) return "atomic";
  if (access.is(kPending)) return "cp.async";
  return access.is(kWrite) ? "write" : "read";
}

}  // namespace

void AccessReports::block_end() {
  for (auto& [key, finding] : held_races_) {
    if (has_divergent_barrier_) finding.detail += kAfterDivergence;
    known_[key] = FindingLog::instance().add(finding);
  }
  held_races_.clear();
  report_suspects(false);
}

void AccessReports::launch_end() {
  report_suspects(true);
  explained_.clear();
}

void AccessReports::wrong_address(FindingKind kind, const Target& target, const void* address, std::size_t bytes,
                                  const Access& access) {
  const Key key{kind, access.site(), 0};
  if (is_known(key)) return;
  known_[key] =
      FindingLog::instance().add(finding_of(kind, access, nullptr, wrong_address_text(kind, target, address, bytes)));
}

std::string AccessReports::wrong_address_text(FindingKind kind, const Target& target, const void* address,
                                              std::size_t bytes) const {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  switch (kind) {
    case FindingKind::kNullPointer:
      return "the address is null" + (number == 0 ? "" : " plus " + std::to_string(number) + " bytes");
    case FindingKind::kHostPointer:
      return "the address is one of host memory";
    case FindingKind::kMisaligned:
      return memory_.describe(target.space, address) + "; " + std::to_string(bytes) + " bytes are accessed";
    default:
      return memory_.describe_miss(target.space, address, bytes);
  }
}

void AccessReports::broken_rule(const Target& target, const void* address, const Access& access,
                                const Verdict& verdict) {
  if (verdict.problem == Problem::kUninitialised) return suspect_uninitialised(target, address, access);
  const bool is_race = verdict.problem == Problem::kRace;
  if (is_race) explain_by_race(access, verdict.with);
  if (is_race && verdict.with.interval < order_.launch().first) {
    return unordered_launches(address, access, verdict.with);
  }
  const Key key{is_race ? FindingKind::kRace : FindingKind::kMissingWait, access.site(), verdict.with.site()};
  if (is_known(key)) return;
  const std::string detail = memory_.describe(target.space, address) +
                             (is_race ? "; nothing orders the two" : "; the copy may not have arrived");
  const bool is_within_block = verdict.with.interval >= order_.block_first();
  if (is_race && is_within_block) return hold_race(access, verdict.with, detail);
  known_[key] = FindingLog::instance().add(finding_of(key.kind, access, &verdict.with, detail));
}

void AccessReports::unordered_launches(const void* address, const Access& access, const Access& with) {
  const Key key{FindingKind::kUnorderedStreams, access.site(), with.site()};
  const StreamOperation* const earlier = streams_.launch_of(with.interval);
  const StreamOperation* const launch = streams_.running();
  if (is_known(key) || earlier == nullptr || launch == nullptr) return;
  known_[key] =
      report_unordered({*earlier, with.is(kWrite), names_.place_of(with.site())},
                       {*launch, access.is(kWrite), names_.place_of(access.site())}, describe_global(address));
}

void AccessReports::unordered_with(const StreamAccess& other, const StreamOperation& launch, const void* address,
                                   const Access& access) {
  report_unordered({other.operation, other.is_write}, {launch, access.is(kWrite), names_.place_of(access.site())},
                   describe_global(address));
  if (!access.is(kWrite) && explained_.insert(access.site()).second) suspects_.erase(access.site());
}

void AccessReports::missing_fence(const Target& target, const void* address, const Access& access,
                                  const Access& write) {
  const Key key{FindingKind::kMissingFence, access.site(), write.site()};
  if (is_known(key)) return;
  const std::string detail = memory_.describe(target.space, address) + "; no fence.proxy.async lies between the two";
  known_[key] = FindingLog::instance().add(finding_of(key.kind, access, &write, detail));
}

void AccessReports::suspect_uninitialised(const Target& target, const void* address, const Access& access) {
  if (explained_.contains(access.site())) return;
  const auto known = suspects_.find(access.site());
  if (known != suspects_.end()) {
    ++known->second.finding.count;
    return;
  }
  const bool is_shared = is_of_block(target.space);
  const char* const reason =
      is_shared ? "; this block has not written it" : "; nothing has written it since cudaMalloc";
  suspects_[access.site()] = {
      finding_of(FindingKind::kUninitialisedRead, access, nullptr, memory_.describe(target.space, address) + reason),
      is_shared};
}

void AccessReports::explain_by_race(const Access& one, const Access& other) {
  for (const Access& access : {one, other}) {
    if (access.is(kWrite) || !explained_.insert(access.site()).second) continue;
    suspects_.erase(access.site());
  }
}

void AccessReports::report_suspects(bool with_global) {
  for (auto suspect = suspects_.begin(); suspect != suspects_.end();) {
    if (!with_global && !suspect->second.is_shared) {
      ++suspect;
      continue;
    }
    FindingLog::instance().add(suspect->second.finding);
    suspect = suspects_.erase(suspect);
  }
}

// The first thread that runs past a barrier at which others still wait races with them long before the barrier is known
// to be divergent.
void AccessReports::hold_race(const Access& access, const Access& with, const std::string& detail) {
  const Key key{FindingKind::kRace, access.site(), with.site()};
  for (auto& [held, finding] : held_races_) {
    if (!(held == key)) continue;
    ++finding.count;
    return;
  }
  held_races_.emplace_back(key, finding_of(FindingKind::kRace, access, &with, detail));
}

// Most findings repeat: once a pair of program counters has been reported, it is only counted.
bool AccessReports::is_known(const Key& key) {
  FindingLog& log = FindingLog::instance();
  if (known_generation_ != log.generation()) {
    known_.clear();
    known_generation_ = log.generation();
  }
  const auto known = known_.find(key);
  if (known == known_.end()) return false;
  log.add_again(known->second);
  return true;
}

Finding AccessReports::finding_of(FindingKind kind, const Access& access, const Access* with,
                                  const std::string& detail) {
  Finding finding{kind, names_.kernel(), {}, detail, 1};
  if (with != nullptr) finding.sides.push_back(side_of(*with));
  finding.sides.push_back(side_of(access));
  return finding;
}

FindingSide AccessReports::side_of(const Access& access) {
  const BlockState& block = *current_block();
  return {action_of(access), names_.place_of(access.site()), true, thread_index(access.thread(), block.block_dim),
          block_index(order_.block_of(access.interval), block.grid_dim)};
}

}  // namespace lockstep::emulator::checker
