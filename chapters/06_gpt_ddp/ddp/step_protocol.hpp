#pragma once
/// @file
/// The loops of a training step, for every wrapper that exchanges gradients with other ranks.
#include <cstdint>
#include <optional>
#include <vector>

#include "06_gpt_ddp/ddp/accumulation.hpp"
#include "06_gpt_ddp/ddp/join.hpp"
#include "06_gpt_ddp/ddp/target_counter.hpp"
#include "comm/process_group.hpp"
#include "data/data_loader.hpp"

namespace lockstep::ddp {

/// The loops of a training step, for a wrapper that derives from this class: over its micro-batches, of which only the
/// last exchanges gradients, and over batches of which ranks may have different numbers. Thread safety: none; one
/// thread.
class StepProtocol {
 public:
  StepProtocol(const StepProtocol&) = delete;
  StepProtocol& operator=(const StepProtocol&) = delete;
  virtual ~StepProtocol() = default;

  /// While it exists, backward() accumulates locally and sends nothing: for all micro-batches of a step but the last.
  class NoSync {
   public:
    /// @param steps  The wrapper; must outlive this object.
    explicit NoSync(StepProtocol& steps) noexcept : closed_(steps.gate_) {}

   private:
    SyncGate::Closed closed_;
  };
  /// Accumulates locally until the returned object is destroyed.
  [[nodiscard]] NoSync no_sync() noexcept { return NoSync(*this); }
  /// Loops over the micro-batches of a step: no_sync() for all but the last (as Accelerate's accumulate()). With none
  /// (see join()), contributes zeros to all other ranks' averages instead.
  /// @param parts  Kept by the caller; a part with a `context` gives the step for messages.
  template <typename Part>
  [[nodiscard]] Accumulation<Part> accumulate(const std::vector<Part>& parts) {
    return {gate_, parts, [this, &parts] {
              std::optional<std::int64_t> step;
              if constexpr (requires(const Part& part) { part.context.step; }) {
                if (!parts.empty()) step = parts.front().context.step;
              }
              begin_step(step);
              if (parts.empty()) contribute_nothing();
            }};
  }
  template <typename Part>
  void accumulate(std::vector<Part>&& parts) = delete;  // a temporary would be destroyed before the first part

  /// Loops over a loader's batches if ranks may have different numbers of them: all ranks take part in every step until
  /// none has data, and every target (not every rank) has the same weight in gradients and average(). Targets that the
  /// loss ignores do not count (autograd::target_count()).
  /// @param enable  False: a plain loop, for loaders of equal length without ignored targets.
  /// @cost  An all-reduce of 16 bytes per step, while forward runs; scales the gradients in steps with unequal shares.
  [[nodiscard]] JoinedBatches join(data::DataLoader& loader, bool enable = true) { return {targets_, loader, enable}; }

  /// The mean of `value`, itself a mean over this rank's targets, over the targets of all ranks; the same on all of
  /// them.
  [[nodiscard]] virtual double average(double value);

  /// Replaces backward() in a step without a batch: contributes zeros. accumulate() calls it.
  virtual void contribute_nothing() = 0;

 protected:
  /// @param group  The ranks that share a batch; outlives this object.
  explicit StepProtocol(comm::ProcessGroup& group) noexcept : group_(group), targets_(group) {}

  /// Whether the next backward() exchanges gradients.
  [[nodiscard]] bool is_last_part() const noexcept { return gate_.is_open(); }
  /// Weighs this rank's gradients in the current step.
  [[nodiscard]] TargetCounter& targets() noexcept { return targets_; }

 private:
  /// Called by accumulate() on all ranks, before the first forward of a step.
  /// @param step  Its number, from 0; empty: not known.
  virtual void begin_step(std::optional<std::int64_t> step) = 0;

  comm::ProcessGroup& group_;
  SyncGate gate_;
  TargetCounter targets_;
};

}  // namespace lockstep::ddp
