#pragma once
/// @file
/// Data parallelism in which a rank keeps only its own part of what it trains: the three stages of ZeRO.
///
/// Vocabulary. A *unit* is several parameters as one flat run of elements. Each of N ranks owns one N-th of it, its
/// *part*. The elements of a parameter that lie in a rank's part are that rank's *shard* of the parameter.
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "06_gpt_ddp/ddp/step_protocol.hpp"
#include "06_gpt_ddp/ladder/reducer.hpp"
#include "09_sharded/shard/evaluation_batches.hpp"
#include "09_sharded/shard/gradient_slots.hpp"
#include "09_sharded/shard/unit.hpp"
#include "09_sharded/shard/unit_window.hpp"
#include "autograd/variable.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::sharded {

/// The stage, and how units are gathered.
struct ShardOptions {
  int stage = 1;         ///< Of ZeRO. 1: the optimizer's state; 2: the gradients too; 3: the values too.
  bool prefetch = true;  ///< Stage 3: gather the next unit while the present one computes.
};

/// Divides the optimizer's work and memory among the ranks of a group; an optimizer over shards() updates 1/N of the
/// elements. Bytes a parameter, in float32 with AdamW:
///
/// | stage | values               | gradients            | moments | sent in a step, times (N-1)/N |
/// |-------|----------------------|----------------------|---------|-------------------------------|
/// | 1     | 4                    | 4                    | 8/N     | 8                             |
/// | 2     | 4                    | 4/N, and a few units | 8/N     | 4 m + 4, for m micro-batches  |
/// | 3     | 4/N, and a few units | 4/N, and a few units | 8/N     | 12 m, less what is still there |
///
/// Order of calls, every step on every rank: optimizer.zero_grad, forward and backward in accumulate(), clip_grad_norm
/// if wanted, optimizer.step, gather_values. (In stages 1 and 2, forward and backward need no accumulate(); stages 2
/// and 3 reduce in every backward, so no_sync() changes nothing.) When backward() returns, the shards have their
/// elements of the averages over all ranks, and the module's own gradients are used up: an optimizer over the module
/// throws a ContractError when it is made, or in its first step if it was made before. After gather_values() all ranks
/// hold the same values again; in stage 3 each holds its own part, and the module has values only in accumulate() and
/// in_step().
///
/// Lifetime: module and group must outlive this object, which takes over the memory of the parameters. After its end
/// the module is whole, but in stage 3 without values. Thread safety: none; one thread.
/// @source Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020,
///         section 5; Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", VLDB 16(12),
///         2023, section 3.
class ShardedDataParallel : public ddp::StepProtocol, private autograd::GradientObserver, private ddp::BucketAverager {
 public:
  /// Copies rank 0's parameters to every rank, lays out the units and starts observing the gradients.
  /// @throws MismatchError  Ranks hold different parameters (number, names, shapes or dtypes).
  /// @throws ContractError  A parameter is observed already, none is trained, one is not float32, there is a buffer, or
  ///                        no such stage.
  /// @cost   One broadcast of all parameters, unit by unit.
  ShardedDataParallel(nn::Module& module, comm::ProcessGroup& group, const ShardOptions& options = {});
  ~ShardedDataParallel() override;

  /// The wrapped module, for forward.
  [[nodiscard]] nn::Module& module() const noexcept { return module_; }
  /// This rank's shards of all trained parameters under their names, for the optimizer and for checkpoints; some may be
  /// empty.
  [[nodiscard]] const nn::Module& shards() const noexcept { return shards_; }
  /// In the order in which they are reduced.
  [[nodiscard]] std::span<const Unit> units() const noexcept { return units_; }
  [[nodiscard]] const ShardOptions& options() const noexcept { return options_; }

  /// Call after the optimizer's step: every rank gets the elements that the others have updated. In stage 3 it gets
  /// them when it needs them, and lets go of the old ones now.
  /// @cost  Sends 4 (N-1)/N bytes a parameter that stays whole.
  void gather_values();

  /// As optim::clip_grad_norm() for the gradients of all ranks together, of which each holds a part.
  /// @return  The 2-norm before clipping, the same on all ranks, rounded to float32: its further digits depend on the
  ///          order in which the ranks' parts are added up.
  /// @cost    One pass over the shards' gradients, and an all-reduce of 8 bytes.
  double clip_grad_norm(double max_norm);

  /// Loops over a loader's batches for an evaluation, on all ranks, which may have different numbers of them. In stage
  /// 3 forward needs values of other ranks, so that a rank cannot evaluate alone.
  [[nodiscard]] EvaluationBatches in_step(data::DataLoader& loader) {
    return {loader, window_ ? &*window_ : nullptr, group_};
  }
  /// While it exists, the module has values, for any forward that all ranks compute alike.
  class [[nodiscard]] InStep {
   public:
    explicit InStep(UnitWindow* window) : window_(window) {
      if (window_ != nullptr) window_->begin_pass(Pass::kOther);
    }
    ~InStep();
    InStep(const InStep&) = delete;
    InStep& operator=(const InStep&) = delete;

   private:
    UnitWindow* window_;
  };
  InStep in_step() { return InStep(window_ ? &*window_ : nullptr); }

  /// How long the last finished step has had nothing to compute and waited for communication.
  [[nodiscard]] std::chrono::nanoseconds exposed_communication() const noexcept { return exposed_; }
  /// The most units that were whole at once so far, with one on its way; 0 in stages 1 and 2, in which all are.
  [[nodiscard]] std::size_t most_alive() const noexcept { return window_ ? window_->most_alive() : 0; }

  void contribute_nothing() override;

 protected:
  /// @name A unit's reduction
  /// The Reducer calls both. A class that derives from this one may reduce the units of stage 1 in another way, as
  /// exercises/mine does with a learner's code.
  /// @{
  void launch(std::size_t unit) override;
  void wait(std::size_t unit) override;
  /// @}
  /// What launch() reduces: a unit that has all its gradients, multiplied by this rank's weight in the step.
  /// @throws ContractError  One is missing; all ranks are told.
  [[nodiscard]] const Unit& weighed_unit(std::size_t unit);
  /// Counts `time` as exposed communication of this step.
  void add_waited(std::chrono::nanoseconds time) noexcept { waited_ += time; }

 private:
  /// A module of parts of parameters.
  class Shards final : public nn::Module {
   public:
    autograd::Variable add(const nn::NamedParameter& whole, const Tensor& own_elements, Range range);
  };
  /// Of a parameter.
  struct Place {
    std::size_t unit, index;  ///< And its number there.
    autograd::Variable shard;
  };
  /// A unit's gradients on their way.
  struct Reduction {
    Tensor means;  ///< This rank's part of them: the unit's own gradients, or what is to be added to those.
    comm::Work work = {};
  };

  void begin_step(std::optional<std::int64_t> step) override;
  /// @throws ContractError  Always: the module's gradients are used up, and what an optimizer updates is shards().
  [[nodiscard]] Tensor veto() const override;
  Tensor place_gradient(autograd::Variable& parameter) override;
  void on_gradient_ready(autograd::Variable& parameter) override;
  void on_backward_end() override;
  void finish_backward();
  [[nodiscard]] Tensor place_for_means(const Unit& unit) const;
  [[nodiscard]] Tensor take_slot(std::int64_t count);

  nn::Module& module_;
  comm::ProcessGroup& group_;
  ShardOptions options_;
  std::vector<nn::NamedParameter> parameters_;
  std::vector<Unit> units_;
  std::unordered_map<const autograd::Variable::Node*, std::size_t> index_of_;  // in parameters_ and places_
  Shards shards_;
  std::vector<Place> places_;
  ddp::Reducer reducer_;
  std::vector<std::optional<Reduction>> reductions_;  // by unit
  std::optional<GradientSlots> slots_;                // from stage 2 on
  std::optional<UnitWindow> window_;                  // in stage 3
  std::chrono::nanoseconds waited_{0}, exposed_{0};   // in this step, in the last one
};

}  // namespace lockstep::sharded
