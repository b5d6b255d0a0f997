// The emulator's backend: it counts accesses and measures no times.
#include "04_kernels/measure/backend.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "device/cuda_check.hpp"
#include "emulator/checker/control.hpp"
#include "emulator/checker/metrics.hpp"

namespace lockstep::ladders {

namespace checked {
const Registry& registry();
}

bool is_emulated() { return true; }

const Registry& plain_registry() {
  static const bool is_checked = environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0";
  return is_checked ? counted_registry() : plain::registry();
}

const Registry& counted_registry() {
#if defined(LOCKSTEP_EMULATOR_HAS_CHECKER)
  return checked::registry();
#else
  throw UnavailableError("this build cannot count accesses, because a sanitizer is on; the preset cpu can");
#endif
}

Counts count_accesses(const std::function<void()>& enqueue) {
  static_cast<void>(counted_registry());
  emulator::clear_metrics();
  emulator::enable_metrics(true);
  enqueue();
  cuda_check(cudaGetLastError(), "launching a kernel");
  cuda_check(cudaDeviceSynchronize(), "running a kernel");
  emulator::enable_metrics(false);
  Counts counts;
  for (const emulator::MetricsRow& row : emulator::metrics()) {
    const auto requests = static_cast<double>(row.requests), transactions = static_cast<double>(row.transactions);
    if (row.operation == "barrier") {
      counts.barriers += requests;
    } else if (row.is_shared) {
      counts.shared_requests += requests;
      counts.bank_passes += transactions;
    } else {
      counts.requests += requests;
      counts.sectors += transactions;
    }
    if (row.operation == "atomic") counts.atomics += static_cast<double>(row.lanes);
  }
  return counts;
}

std::optional<LibraryCall> library_call(std::string_view, std::span<const int>) { return std::nullopt; }

}  // namespace lockstep::ladders
