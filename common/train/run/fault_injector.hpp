#pragma once
/// @file
/// Makes the faults of LOCKSTEP_INJECT happen to this rank, in the steps that they name.
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/fault.hpp"
#include "base/log.hpp"

namespace lockstep::run {

/// The faults that are meant for one rank of one attempt. Says each on standard error when its step begins. A fault
/// that needs a message, an allocation or a checkpoint is armed then, and happens at the first one
/// (base/fault_point.hpp). Without faults, nothing costs anything. Thread safety: none.
class FaultInjector {
 public:
  /// @param faults      Of all ranks: what is not for this rank and attempt is left out.
  /// @param rank        Of the job. @param world_size  Of the job.
  /// @param attempt     Which start of the job this is, from 0.
  /// @throws FormatError  A fault is for a rank, or has a peer, that the job does not have.
  FaultInjector(const std::vector<fault::Fault>& faults, int rank, int world_size, int attempt);

  /// What LOCKSTEP_INJECT says; none where it is unset. @throws FormatError  It cannot be read.
  [[nodiscard]] static std::vector<fault::Fault> of_environment();

  /// Kills or stops this process, slows it down, or arms what is due.
  /// @param step        That begins, from 1.
  /// @param own_time    Of the step before without waiting for other ranks: what a factor multiplies. 0: unknown.
  void begin_step(std::int64_t step, std::chrono::duration<double> own_time);

  /// How long the step that began last was slowed down for.
  [[nodiscard]] std::chrono::duration<double> last_pause() const noexcept { return last_pause_; }

  /// Warns of faults that have not happened: there was no such message or checkpoint, or the training was too short.
  void finish();

 private:
  [[nodiscard]] bool is_waiting(const fault::Fault& fault) const;

  std::vector<fault::Fault> faults_;
  Logger log_;
  std::int64_t step_ = 0;
  std::chrono::duration<double> last_pause_{};  // part of the last step's own time
};

}  // namespace lockstep::run
