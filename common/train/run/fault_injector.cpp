#include "run/fault_injector.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <thread>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::run {
namespace {

void require_possible(const fault::Fault& fault, int world_size) {
  const int highest = std::max(fault.rank, fault.peer.value_or(0));
  if (highest < world_size) return;
  throw FormatError(concat(fault::kVariable, ": the fault \"", fault::to_text(fault), "\" names rank ", highest,
                           ", but the job's ranks are 0 to ", world_size - 1));
}

// Each element takes the place of the one before it, the first that of the last.
void shift_elements(const Tensor& tensor) {
  const std::span bytes(static_cast<std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  std::ranges::rotate(bytes, bytes.begin() + static_cast<std::ptrdiff_t>(bytes_of(tensor.dtype())));
}

std::string reason_not_fired(const fault::Fault& fault) {
  if (fault::needs_tcp(fault.kind))
    return "no message went over TCP; use the backend ring or star (LOCKSTEP_TRANSPORT=tcp makes auto the ring)";
  if (fault.kind == fault::Kind::kDiskFull) return concat("rank ", fault.rank, " has written no checkpoint since");
  return "there was no occasion for it";
}

}  // namespace

std::vector<fault::Fault> FaultInjector::from_environment() {
  const auto text = environment::get(fault::kVariable);
  if (!text) return {};
  try {
    return fault::parse_faults(*text);
  } catch (const FormatError& error) {
    throw FormatError(concat(fault::kVariable, ": ", error.what()));
  }
}

FaultInjector::FaultInjector(const std::vector<fault::Fault>& faults, int rank, int world_size, int attempt)
    : log_(concat("rank ", rank)) {
  for (const fault::Fault& fault : faults) {
    if (fault.attempt && *fault.attempt != attempt) continue;
    require_possible(fault, world_size);
    if (fault.rank == rank) faults_.push_back(fault);
  }
}

void FaultInjector::begin_step(std::int64_t step, std::chrono::duration<double> own_time) {
  step_ = step;
  std::chrono::duration<double> pause{};
  for (const fault::Fault& fault : faults_) {
    if (fault.kind == fault::Kind::kSlow && step >= fault.step)
      pause += fault.pause + (fault.factor - 1) * std::max(own_time - last_pause_, std::chrono::duration<double>{});
    if (fault.step != step) continue;
    log_.warning(concat("injected fault: ", fault::to_text(fault)));
    if (fault.kind == fault::Kind::kKill) std::raise(SIGKILL);
    if (fault.kind == fault::Kind::kStop) std::raise(SIGSTOP);
    if (fault.kind > fault::Kind::kSlow) fault::arm(fault.kind, fault.peer.value_or(fault::kAnyPeer));
  }
  last_pause_ = pause;
  if (pause.count() > 0) std::this_thread::sleep_for(pause);
}

void FaultInjector::read_batch(const data::Batch& batch) {
  if (batch.size() == 0 || !fault::take(fault::Kind::kBatch)) return;
  for (const Tensor& tensor : {batch.inputs, batch.targets}) shift_elements(tensor);
  for (std::int64_t& id : batch.sample_ids.span<std::int64_t>()) ++id;
}

bool FaultInjector::is_waiting(const fault::Fault& fault) const {
  return fault.step > step_ || fault::is_armed(fault.kind);
}

void FaultInjector::finish() {
  for (const fault::Fault& fault : faults_) {
    if (!is_waiting(fault)) continue;
    const std::string why =
        fault.step > step_ ? concat("the training ended with step ", step_) : reason_not_fired(fault);
    log_.warning(concat("the fault \"", fault::to_text(fault), "\" did not happen: ", why));
    (void)fault::take(fault.kind);  // disarm this run's fault: the process may begin another run
  }
}

}  // namespace lockstep::run
