#include "emulator/checker/metrics_counter.hpp"

#include <algorithm>
#include <bit>

namespace lockstep::emulator::checker {
namespace {

constexpr std::uintptr_t kSectorBytes = 32;
constexpr std::uintptr_t kBankBytes = 4;
constexpr std::size_t kBanks = 32;

Operation operation_of(const Access& access) {
  if (access.is(kAtomic)) return Operation::kAtomic;
  return access.is(kWrite) ? Operation::kStore : Operation::kLoad;
}

// The different units of `unit_bytes` touched by the lanes [first, last).
std::vector<std::uintptr_t> units_of(const Request& request, std::size_t first, std::size_t last,
                                     std::uintptr_t unit_bytes) {
  std::vector<std::uintptr_t> units;
  for (std::size_t lane = first; lane < last; ++lane) {
    if ((request.mask >> lane & 1U) == 0) continue;
    const std::uintptr_t begin = request.addresses[lane];
    for (std::uintptr_t unit = begin / unit_bytes; unit <= (begin + request.bytes - 1) / unit_bytes; ++unit) {
      if (units.empty() || units.back() != unit) units.push_back(unit);
    }
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

}  // namespace

RequestCost sectors_of(const Request& request) {
  const std::size_t bytes = units_of(request, 0, 32, 1).size();
  return {units_of(request, 0, 32, kSectorBytes).size(), (bytes + kSectorBytes - 1) / kSectorBytes};
}

RequestCost passes_of(const Request& request) {
  const std::size_t lanes = request.bytes <= 4 ? 32 : request.bytes <= 8 ? 16 : 8;
  RequestCost cost;
  for (std::size_t first = 0; first < 32; first += lanes) {
    const std::vector<std::uintptr_t> words = units_of(request, first, first + lanes, kBankBytes);
    std::array<std::uint64_t, kBanks> load{};
    for (const std::uintptr_t word : words) ++load[word % kBanks];
    cost.transactions += *std::max_element(load.begin(), load.end());
    cost.ideal += (words.size() + kBanks - 1) / kBanks;
  }
  return cost;
}

void MetricsCounter::block_begin(const std::string& kernel, std::uint32_t thread_count) {
  kernel_ = kernel;
  thread_count_ = thread_count;
}

void MetricsCounter::block_end() {
  fold_open();
  instructions_.clear();
}

// Completes all requests; the next execution of every lane begins a new one.
void MetricsCounter::fold_open() {
  const std::size_t warps = (std::size_t{thread_count_} + 31) / 32;
  for (auto& [key, instruction] : instructions_) {
    for (std::size_t warp = 0; warp < warps; ++warp) {
      Queue& queue = instruction.warps[warp];
      if (queue.open.empty()) continue;
      for (const Request& request : queue.open) fold(instruction, request);
      queue.first += static_cast<std::uint32_t>(queue.open.size());
      queue.done.fill(queue.first);
      queue.open.clear();
    }
  }
}

MetricsCounter::Instruction& MetricsCounter::instruction_of(const Access& access, bool is_global) {
  const Operation operation = operation_of(access);
  const std::uint64_t key = access.site() << 8U | static_cast<std::uint64_t>(operation) << 1U | (is_global ? 1U : 0U);
  Instruction& instruction = instructions_[key];
  if (instruction.totals == nullptr) {
    instruction.totals = &totals_[{kernel_, access.site(), operation, is_global}];
    instruction.is_global = is_global;
  }
  return instruction;
}

void MetricsCounter::count(const ThreadState& thread, const Access& access, const void* address, std::size_t bytes,
                           bool is_global) {
  Instruction& instruction = instruction_of(access, is_global);
  Queue& queue = instruction.warps[thread.warp];
  const std::size_t index = queue.done[thread.lane]++ - queue.first;
  if (index >= queue.open.size()) queue.open.resize(index + 1);
  Request& request = queue.open[index];
  request.mask |= 1U << thread.lane;
  request.bytes = std::max(request.bytes, static_cast<std::uint32_t>(bytes));
  request.addresses[thread.lane] = reinterpret_cast<std::uintptr_t>(address);
  const std::uint32_t lanes = std::min(32U, thread_count_ - thread.warp * 32);
  const std::uint32_t all = lanes == 32 ? ~0U : (1U << lanes) - 1;
  while (!queue.open.empty() && queue.open.front().mask == all) {
    fold(instruction, queue.open.front());
    queue.open.pop_front();
    ++queue.first;
  }
}

void MetricsCounter::fold(Instruction& instruction, const Request& request) {
  const RequestCost cost = instruction.is_global ? sectors_of(request) : passes_of(request);
  const auto lanes = static_cast<std::uint64_t>(std::popcount(request.mask));
  ++instruction.totals->requests;
  instruction.totals->lanes += lanes;
  instruction.totals->bytes += lanes * request.bytes;
  instruction.totals->transactions += cost.transactions;
  instruction.totals->ideal += cost.ideal;
}

void MetricsCounter::count_barrier(Site site) {
  fold_open();
  ++totals_[{kernel_, site, Operation::kBarrier, false}].requests;
}

}  // namespace lockstep::emulator::checker
