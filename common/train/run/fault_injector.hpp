#pragma once
/// @file
/// Injects the faults of LOCKSTEP_INJECT into this rank, in the steps that they name.
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/fault.hpp"
#include "base/log.hpp"
#include "data/dataset.hpp"

namespace lockstep::run {

/// The faults for one rank of one attempt. Reports each on standard error when its step begins. A fault that needs a
/// message, an allocation or a checkpoint is armed then, and occurs at the first one (base/fault_point.hpp). No cost
/// without faults. Thread safety: none.
class FaultInjector {
 public:
  /// @param faults      Of all ranks; those for other ranks or attempts are ignored.
  /// @param rank        Of the job. @param world_size  Of the job.
  /// @param attempt     Number of this start of the job, from 0.
  /// @throws FormatError  A fault names a rank or a peer that the job does not have.
  FaultInjector(const std::vector<fault::Fault>& faults, int rank, int world_size, int attempt);

  /// The faults in LOCKSTEP_INJECT; none if it is unset. @throws FormatError  It cannot be parsed.
  [[nodiscard]] static std::vector<fault::Fault> from_environment();

  /// Kills, stops or slows down this process, or arms the faults of this step.
  /// @param step        The step that begins, from 1.
  /// @param own_time    Time of the previous step without waiting for other ranks; slowdown factors apply to it. 0:
  ///                    unknown.
  void begin_step(std::int64_t step, std::chrono::duration<double> own_time);

  /// If this step's fault is `batch`: writes other samples over those of `batch`, of which no other rank learns. As
  /// many, each from one element further on.
  void read_batch(const data::Batch& batch);

  /// The slowdown in the step that began last.
  [[nodiscard]] std::chrono::duration<double> last_pause() const noexcept { return last_pause_; }

  /// Warns of faults that did not occur: no such message or checkpoint, or training was too short.
  void finish();

 private:
  [[nodiscard]] bool is_waiting(const fault::Fault& fault) const;

  std::vector<fault::Fault> faults_;
  Logger log_;
  std::int64_t step_ = 0;
  std::chrono::duration<double> last_pause_{};  // part of the last step's time, without waiting for other ranks
};

}  // namespace lockstep::run
