#pragma once
/// @file
/// Data parallelism for a module: every rank holds the same parameters, computes gradients on its own share of the
/// batch, and averages them with all other ranks while backward is still running.
///
/// Vocabulary. A *bucket* is one contiguous block of gradient memory shared by several parameters; each of these
/// parameters' gradients is a *view* into it. A bucket *leaves* (its all-reduce is issued) when the gradients of all
/// its parameters are final. Communication is *exposed* when the rank has nothing left to compute and waits for it.
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ddp/accumulation.hpp"
#include "06_gpt_ddp/ddp/bucket_exchange.hpp"
#include "06_gpt_ddp/ddp/gradient_audit.hpp"
#include "06_gpt_ddp/ddp/gradient_buckets.hpp"
#include "06_gpt_ddp/ddp/join.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "06_gpt_ddp/ddp/target_counter.hpp"
#include "06_gpt_ddp/ladder/reducer.hpp"
#include "autograd/variable.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// Averages a module's gradients over the ranks of a group (PyTorch's class of the same name). It is a module too,
/// whose one child is called "module": its parameters are the wrapped module's, with "module." before each name.
///
/// Order of calls, every step on every rank: zero_grad, forward, backward, optimizer step. When backward() returns, the
/// gradients are the averages and identical on all ranks bit for bit. Buffers are rank 0's then. If a rank finds
/// something wrong with its gradients (none for a parameter, NaN, one for a parameter that was frozen when it was
/// wrapped and that no bucket has), backward() throws the same message on all ranks; on a device see GradientAudit.
/// Lifetime: module and group must outlive this object, which rebinds the parameters' gradients to its buckets; at the
/// end of the first step's backward once more, so that buckets fill in the order in which rank 0's gradients became
/// ready. In that step nothing leaves before. Thread safety: none; one thread.
/// @source Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13(12), 2020.
class DistributedDataParallel final : public nn::Module, private autograd::GradientObserver {
 public:
  /// Copies rank 0's parameters and buffers to every rank, lays out the buckets and starts to watch the gradients.
  /// @throws MismatchError  Ranks hold different parameters or buffers (number, names, shapes or dtypes).
  /// @throws ContractError  A parameter is watched already, or there is none.
  /// @cost   One broadcast of all parameters; gradient memory is allocated by the group.
  DistributedDataParallel(nn::Module& module, comm::ProcessGroup& group, const DdpOptions& options = {});
  ~DistributedDataParallel() override;
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  /// The wrapped module: what is saved, so that a checkpoint does not know how many ranks trained it.
  [[nodiscard]] nn::Module& module() const noexcept { return module_; }

  /// From now on buckets leave through `hook`, the same on all ranks. @pre  Not during backward().
  void register_comm_hook(CommHook hook) { exchange_.set_hook(std::move(hook)); }
  /// On all ranks: what rank 0's function returns ends the message of a gradient that is not finite, as how to go on.
  void set_advice(std::function<std::string()> advice) { audit_.set_advice(std::move(advice)); }

  /// In bucket order: the first to leave comes first.
  [[nodiscard]] const std::vector<Bucket>& buckets() const noexcept { return buckets_.all(); }
  /// The order in which the buckets take the parameters, by name, once a step has settled it; empty before. It decides
  /// in which order gradients are added up, so it is saved with a training that is to be continued bit for bit.
  [[nodiscard]] std::vector<std::string> bucket_order() const { return buckets_.order(); }
  /// Takes over the order of an earlier training in place of that of the first step. Empty: changes nothing.
  /// @param names  From bucket_order(), at any number of ranks; the same on all of them. @pre  No step has begun.
  /// @throws FormatError  Not the module's parameters, each once.
  void set_bucket_order(std::span<const std::string> names);

  /// Time that the last backward() whose end is known waited, on a device that one, with nothing left to compute.
  [[nodiscard]] std::chrono::nanoseconds exposed_communication() const noexcept { return audit_.exposed(); }

  /// While it lives, backward() accumulates locally and nothing is sent: for all micro-batches of a step but the last.
  class NoSync {
   public:
    /// @param ddp  Must outlive this object.
    explicit NoSync(DistributedDataParallel& ddp) noexcept : closed_(ddp.gate_) {}

   private:
    SyncGate::Closed closed_;
  };
  /// Accumulates locally until the returned object goes.
  [[nodiscard]] NoSync no_sync() noexcept { return NoSync(*this); }
  /// Loops over the micro-batches of a step: no_sync() for all but the last (as Accelerate's accumulate()). With none
  /// (see join()), contributes zeros to all other ranks' averages instead.
  /// @param parts  Kept by the caller; a part with a `context` tells the step for messages.
  template <typename Part>
  [[nodiscard]] Accumulation<Part> accumulate(const std::vector<Part>& parts) {
    return {gate_, parts, [this, &parts] {
              if constexpr (requires(const Part& part) { part.context.step; }) {
                if (!parts.empty()) audit_.set_step(parts.front().context.step + 1);
              }
              broadcast_buffers();
              if (parts.empty()) contribute_nothing();
            }};
  }
  template <typename Part>
  void accumulate(std::vector<Part>&& parts) = delete;  // a temporary would be gone before the first part

  /// Loops over a loader's batches where ranks may have different numbers of them: all ranks take part in every step
  /// until none has data, and each target (not each rank) counts alike in gradients and average(). Those that the loss
  /// ignores do not count (autograd::target_count()).
  /// @param enable  False: the plain loop, for loaders of equal length without ignored targets.
  /// @cost  An all-reduce of 16 bytes per step, while forward runs; a step with unequal shares scales its gradients.
  [[nodiscard]] JoinedBatches join(data::DataLoader& loader, bool enable = true) { return {targets_, loader, enable}; }

  /// The mean of `value`, itself a mean over this rank's targets, over the targets of all ranks; the same on all of
  /// them.
  [[nodiscard]] double average(double value);

  /// On a device, throws what the last backward() has not waited for: for loops that neither clip nor average, before
  /// they keep the parameters. On all ranks. @throws ContractError, Error  A rank's gradients are wrong; names them.
  void require_sound_gradients() override { audit_.require_sound_gradients(); }

  /// Takes part in a step without a batch, in place of backward(): zeros in every bucket. accumulate() calls it.
  void contribute_nothing();

  /// Copies rank 0's buffers to every rank, if the options say so. accumulate() calls it before forward, and backward()
  /// at the end of each step that averages, for loops without accumulate() and for evaluations.
  void broadcast_buffers();

 private:
  [[nodiscard]] bool is_syncing() const noexcept { return options_.average_gradients && gate_.is_open(); }
  void on_gradient_ready(autograd::Variable& parameter) override;
  void on_backward_end() override;
  [[nodiscard]] Tensor veto() const override { return audit_.veto(); }
  void use_layout();
  void finish_step();

  nn::Module& module_;
  comm::ProcessGroup& group_;
  DdpOptions options_;
  std::vector<nn::NamedBuffer> buffers_;
  GradientBuckets buckets_;
  GradientAudit audit_;
  TargetCounter targets_;
  BucketExchange exchange_;
  SyncGate gate_;
  std::unordered_map<const autograd::Variable::Node*, std::size_t> index_of_;  // of a parameter in buckets_
  std::optional<Reducer> reducer_;                                             // for the present layout
  std::vector<std::size_t> ready_order_;  // parameters whose gradient is final, until a step has settled the layout
};

}  // namespace lockstep::ddp
