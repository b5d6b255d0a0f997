// The checker's other half: from what is wrong to what a student reads.
#include "emulator/checker/checker.hpp"

namespace lockstep::emulator::checker {
namespace {

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

FindingKind kind_of(EngineFindingKind kind) {
  switch (kind) {
    case EngineFindingKind::kDeadlock:
      return FindingKind::kDeadlock;
    case EngineFindingKind::kBarrierAfterExit:
    case EngineFindingKind::kDivergentBarrier:
      return FindingKind::kDivergentBarrier;
    case EngineFindingKind::kWrongMask:
      return FindingKind::kWrongMask;
    case EngineFindingKind::kUndefinedLane:
      return FindingKind::kUndefinedLane;
    case EngineFindingKind::kStackOverflow:
      return FindingKind::kStackOverflow;
    case EngineFindingKind::kIllegalAddress:
      return FindingKind::kOutOfBounds;
    case EngineFindingKind::kException:
      return FindingKind::kException;
    case EngineFindingKind::kMisalignedAddress:
      return FindingKind::kMisaligned;
  }
  return FindingKind::kException;
}

// hint_of() looks for these words.
constexpr const char* kAfterDivergence = "; threads of the block missed each other at a barrier";

FindingPlace place_of(SourcePlace place) { return {place.file == nullptr ? "" : place.file, place.line}; }

}  // namespace

std::string Checker::kernel_name() {
  if (kernel_name_.empty() && call_ != nullptr) {
    kernel_name_ = call_->name != nullptr       ? call_->name
                   : call_->function != nullptr ? symbolizer_.function_name(call_->function)
                                                : "";
    if (kernel_name_.empty()) kernel_name_ = "(unnamed)";
  }
  return kernel_name_;
}

FindingPlace Checker::place_of(Site site) {
  if (site < Sites::kFirstAddress) return checker::place_of(sites_.place(site));
  const Frame& frame = symbolizer_.user_frame(site);
  return {frame.file, frame.line};
}

FindingSide Checker::side_of(const Access& access) {
  const BlockState& block = *current_block();
  return {action_of(access), place_of(access.site()), true, thread_index(access.thread(), block.block_dim),
          block_index(order_.block_of(access.interval), block.grid_dim)};
}

// Most findings come again and again: once reported, a pair of program counters only counts.
bool Checker::is_known(FindingKind kind, Site site, Site with) {
  FindingLog& log = FindingLog::instance();
  if (known_generation_ != log.generation()) {
    known_.clear();
    known_generation_ = log.generation();
  }
  const auto known = known_.find({kind, site, with});
  if (known == known_.end()) return false;
  log.add_again(known->second);
  return true;
}

Finding Checker::finding_of(FindingKind kind, const Access& access, const Access* with, const std::string& detail) {
  Finding finding;
  finding.kind = kind;
  finding.kernel = kernel_name();
  if (with != nullptr) finding.sides.push_back(side_of(*with));
  finding.sides.push_back(side_of(access));
  finding.detail = detail;
  return finding;
}

void Checker::report(FindingKind kind, const Access& access, const Access* with, const std::string& detail) {
  known_[{kind, access.site(), with == nullptr ? 0 : with->site()}] =
      FindingLog::instance().add(finding_of(kind, access, with, detail));
}

void Checker::suspect_uninitialised(const Target& target, const void* address, const Access& access) {
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

void Checker::explain_by_race(const Access& one, const Access& other) {
  for (const Access& access : {one, other}) {
    if (access.is(kWrite) || !explained_.insert(access.site()).second) continue;
    suspects_.erase(access.site());
  }
}

void Checker::report_suspects(bool with_global) {
  for (auto suspect = suspects_.begin(); suspect != suspects_.end();) {
    if (!with_global && !suspect->second.is_shared) {
      ++suspect;
      continue;
    }
    FindingLog::instance().add(suspect->second.finding);
    suspect = suspects_.erase(suspect);
  }
}

// The first thread that runs past a barrier which others still wait for races with them, long before the barrier is
// known to be divergent.
void Checker::hold_race(const Access& access, const Access& with, const std::string& detail) {
  const Key key{FindingKind::kRace, access.site(), with.site()};
  for (auto& [held, finding] : held_races_) {
    if (!(held == key)) continue;
    ++finding.count;
    return;
  }
  held_races_.emplace_back(key, finding_of(FindingKind::kRace, access, &with, detail));
}

void Checker::report_held_races() {
  for (auto& [key, finding] : held_races_) {
    if (has_divergent_barrier_) finding.detail += kAfterDivergence;
    known_[key] = FindingLog::instance().add(finding);
  }
  held_races_.clear();
}

void Checker::report_target(FindingKind kind, const void* address, const Access& access, const std::string& detail) {
  if (is_known(kind, access.site(), 0)) return;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  std::string text = detail;
  if (kind == FindingKind::kNullPointer) text = "the address is null";
  if (kind == FindingKind::kNullPointer && number != 0) text += " plus " + std::to_string(number) + " bytes";
  if (kind == FindingKind::kHostPointer) text = "the address is one of host memory";
  report(kind, access, nullptr, text);
}

void Checker::report_access(const Target& target, const void* address, const Access& access, const Verdict& verdict) {
  if (verdict.problem == Problem::kUninitialised) return suspect_uninitialised(target, address, access);
  const bool is_race = verdict.problem == Problem::kRace;
  if (is_race) explain_by_race(access, verdict.with);
  const FindingKind kind = is_race ? FindingKind::kRace : FindingKind::kMissingWait;
  if (is_known(kind, access.site(), verdict.with.site())) return;
  const std::string detail = memory_.describe(target.space, address) +
                             (is_race ? "; nothing orders the two" : "; the copy may not have arrived");
  const bool is_within_block = verdict.with.interval >= order_.block_first();
  if (is_race && is_within_block) return hold_race(access, verdict.with, detail);
  report(kind, access, &verdict.with, detail);
}

void Checker::compiler_found(FindingKind kind, const char* action, FindingPlace place, const std::string& detail) {
  const ThreadState* const thread = current_thread();
  if (thread == nullptr || !jobs_.rules) return;
  skipped_ = thread;  // the access itself would be reported as a consequence
  skipped_at_ = place;
  Finding finding{kind, kernel_name(), {}, detail, 1};
  finding.sides.push_back({action, std::move(place), true, thread->thread_idx, current_block()->block_idx});
  FindingLog::instance().add(finding);
}

void Checker::finding(const EngineFinding& noticed) {
  if (!jobs_.rules) return;
  has_divergent_barrier_ |= kind_of(noticed.kind) == FindingKind::kDivergentBarrier;
  Finding finding{kind_of(noticed.kind), kernel_name(), {}, noticed.message, 1};
  const BlockState* const block = current_block();
  const uint3 block_idx = block != nullptr ? block->block_idx : uint3{};
  for (const ThreadPlace& thread : noticed.threads) {
    finding.sides.push_back({thread.doing, checker::place_of(thread.place), true, thread.thread_idx, block_idx});
  }
  if (finding.sides.empty()) {
    const ThreadState* const thread = current_thread();
    FindingSide side{"", checker::place_of(noticed.place), thread != nullptr, {}, block_idx};
    if (thread != nullptr) side.thread = thread->thread_idx;
    finding.sides.push_back(side);
  }
  FindingLog::instance().add(finding);
}

void Checker::report_fault(const void* address, const void* pc) {
  Finding finding;
  FindingSide side{"access", {}, false, {}, {}};
  // Its own symbolizer: a kernel may be running on another thread. The instruction itself is sought, not a call before
  // it.
  if (pc != nullptr) {
    const Frame frame = Symbolizer().user_frame(reinterpret_cast<std::uintptr_t>(pc) + 1);
    side.place = {frame.file, frame.line};
  }
  const ThreadState* const thread = running == this ? current_thread() : nullptr;
  if (thread != nullptr) {
    finding.kernel = kernel_name();
    side.is_in_kernel = true;
    side.thread = thread->thread_idx;
    side.block = current_block()->block_idx;
  }
  const bool is_null = reinterpret_cast<std::uintptr_t>(address) < Sites::kFirstAddress;
  const bool is_device = DeviceMemory::instance().contains(address);
  finding.kind = is_null                          ? FindingKind::kNullPointer
                 : is_device && thread == nullptr ? FindingKind::kHostAccess
                                                  : FindingKind::kOutOfBounds;
  finding.detail = is_null     ? "the address is null"
                   : is_device ? describe_global(address)
                               : "nothing lies at the address";
  finding.sides.push_back(side);
  FindingLog::instance().add(finding);
}

}  // namespace lockstep::emulator::checker
