#pragma once
/// @file
/// Data parallelism for a module: every rank holds the same parameters, computes gradients on its own share of the
/// batch, and averages them with all other ranks while backward is still running.
///
/// Vocabulary. A *bucket* is one contiguous block of gradient memory shared by several parameters; each of these
/// parameters' gradients is a *view* into it. A bucket *leaves* (its all-reduce is issued) when the gradients of all
/// its parameters are final. Communication is *exposed* when the rank has nothing left to compute and waits for it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "06_gpt_ddp/ddp/bucket_layout.hpp"
#include "06_gpt_ddp/ddp/comm_hook.hpp"
#include "06_gpt_ddp/ddp/device_verdict.hpp"
#include "06_gpt_ddp/ddp/gradient_faults.hpp"
#include "06_gpt_ddp/ddp/join.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "autograd/variable.hpp"
#include "comm/process_group.hpp"
#include "data/dataset.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

template <typename Part>
class Accumulation;

/// Averages a module's gradients over the ranks of a group (PyTorch's class of the same name). It is a module too,
/// whose one child is called "module": its parameters are the wrapped module's, with "module." before each name.
///
/// Order of calls, every step on every rank: zero_grad, forward, backward, optimizer step. When backward() returns, the
/// gradients are the averages and identical on all ranks bit for bit (on star and ring). Buffers are rank 0's then. If
/// a rank finds something wrong with its gradients (none for a parameter, NaN, one for a parameter that was frozen when
/// it was wrapped and that no bucket has), backward() throws the same message on all ranks. On a device the host does
/// not wait to know: there optim::clip_grad_norm(), average(), require_sound_gradients() or the next backward() throws
/// it, whichever comes first, and until then optimizers change nothing. Lifetime: module and group must outlive this
/// object, which rebinds the parameters' gradients to its buckets; at the end of the first step's backward once more,
/// so that buckets fill in the order in which rank 0's gradients became ready. In that step nothing leaves before.
/// Thread safety: none; one thread.
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
  void register_comm_hook(CommHook hook) { options_.comm_hook = std::move(hook); }

  /// On all ranks: what rank 0's function returns ends the message of a gradient that is not finite, as how to go on.
  void set_advice(std::function<std::string()> advice) { advice_ = std::move(advice); }

  /// In bucket order: the first to leave comes first.
  [[nodiscard]] const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

  /// The order in which the buckets take the parameters, by name, once a step has settled it; empty before. It decides
  /// in which order gradients are added up, so it is saved with a training that is to be continued bit for bit.
  [[nodiscard]] std::vector<std::string> bucket_order() const;
  /// Takes over the order of an earlier training in place of that of the first step. Empty: changes nothing.
  /// @param names  From bucket_order(), at any number of ranks; the same on all of them. @pre  No step has begun.
  /// @throws FormatError  Not the module's parameters, each once.
  void set_bucket_order(std::span<const std::string> names);

  /// Time that the last backward() whose end is known waited, on a device that one, with nothing left to compute.
  [[nodiscard]] std::chrono::nanoseconds exposed_communication() const noexcept { return exposed_communication_; }

  /// While it lives, backward() accumulates locally and nothing is sent: for all micro-batches of a step but the last.
  class NoSync {
   public:
    /// @param ddp  Must outlive this object.
    explicit NoSync(DistributedDataParallel& ddp) noexcept : ddp_(ddp) { ++ddp_.no_sync_depth_; }
    ~NoSync() { --ddp_.no_sync_depth_; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedDataParallel& ddp_;
  };
  /// Accumulates locally until the returned object goes.
  [[nodiscard]] NoSync no_sync() noexcept { return NoSync(*this); }

  /// Loops over the micro-batches of a step: no_sync() for all but the last (as Accelerate's accumulate()). With none
  /// (see join()), contributes zeros to all other ranks' averages instead.
  /// @param parts  Kept by the caller; a part with a `context` tells the step for messages.
  template <typename Part>
  [[nodiscard]] Accumulation<Part> accumulate(const std::vector<Part>& parts) {
    return Accumulation<Part>(*this, parts);
  }
  template <typename Part>
  void accumulate(std::vector<Part>&& parts) = delete;  // a temporary would be gone before the first part

  /// Loops over a loader's batches where ranks may have different numbers of them: all ranks take part in every step
  /// until none has data, and each target (not each rank) counts alike in gradients and average(). Those that the loss
  /// ignores do not count (autograd::target_count()).
  /// @param enable  False: the plain loop, for loaders of equal length without ignored targets.
  /// @cost  An all-reduce of 16 bytes per step, while forward runs; a step with unequal shares scales its gradients.
  [[nodiscard]] JoinedBatches join(data::DataLoader& loader, bool enable = true) { return {*this, loader, enable}; }

  /// The mean of `value`, itself a mean over this rank's targets, over the targets of all ranks; the same on all of
  /// them.
  [[nodiscard]] double average(double value);

  /// On a device, throws what the last backward() has not waited for: for loops that neither clip nor average, before
  /// they keep the parameters. On all ranks. @throws ContractError, Error  A rank's gradients are wrong; names them.
  void require_sound_gradients() override;

  /// Takes part in a step without a batch, in place of backward(): zeros in every bucket. accumulate() calls it.
  void contribute_nothing();

  /// Copies rank 0's buffers to every rank, if the options say so. accumulate() calls it before forward, and backward()
  /// at the end of each step that averages, for loops without accumulate() and for evaluations.
  void broadcast_buffers();

 private:
  template <typename Part>
  friend class Accumulation;
  friend class JoinedBatches;

  void on_gradient_ready(autograd::Variable& parameter) override;
  void on_backward_end() override;
  [[nodiscard]] Tensor veto() const override { return verdict_ ? verdict_->veto() : Tensor(); }
  void require_free_parameters() const;
  void broadcast_parameters();
  void issue_buffers(std::vector<comm::Work>& works) const;
  void rebuild_buckets();
  void fill_buckets(std::span<const std::size_t> order);
  [[nodiscard]] bool is_awaited(std::size_t index) const;
  void launch_ready_buckets();
  void launch_next_bucket();
  void prepare(const Bucket& bucket);
  void mark_non_finite(const Bucket& bucket);
  void find_unused();
  void find_unaveraged();
  void finish_step();
  void finish_step_on_device();
  [[nodiscard]] bool is_asking_for_use() const noexcept;
  [[nodiscard]] comm::Work reduce_fault_counts();
  void evaluate_census();
  void forget_step();
  [[nodiscard]] bool is_syncing() const noexcept { return no_sync_depth_ == 0 && !is_last_part_to_come_; }
  void begin_counted_step(const data::Batch& batch);
  [[nodiscard]] std::int64_t targets_of_all_ranks();
  [[nodiscard]] std::int64_t samples_of_all_ranks();
  [[nodiscard]] double weight();

  nn::Module& module_;
  comm::ProcessGroup& group_;
  DdpOptions options_;
  std::function<std::string()> advice_;  // may be empty
  std::vector<nn::NamedParameter> parameters_;
  std::vector<nn::NamedParameter> watched_;  // those, then the ones that were frozen when the module was wrapped
  std::vector<nn::NamedBuffer> buffers_;
  std::unordered_map<const autograd::Variable::Node*, std::size_t> index_of_;  // of a parameter
  std::vector<std::size_t> bucket_of_;                                         // parameter index -> bucket index
  std::vector<Bucket> buckets_;
  std::shared_ptr<Storage> memory_;  // of all buckets, the same for every layout

  // Of the running step.
  std::vector<std::size_t> ready_order_;  // parameters whose gradient is final
  std::vector<GradientFault> faults_;     // by watched parameter
  std::vector<bool> is_used_;             // by parameter: this rank has a gradient for it
  std::vector<bool> is_filled_;           // by parameter: its gradient is zeros that its bucket took along
  std::vector<comm::Work> in_flight_;
  std::size_t next_to_launch_ = 0;
  std::int64_t step_ = 1;
  int no_sync_depth_ = 0;
  bool is_last_part_to_come_ = false;     // within accumulate()
  StepCounts counts_;                     // of a joined loop
  std::optional<DeviceVerdict> verdict_;  // empty on the CPU, where the host knows at once
  Tensor census_;  // int64: faults on all ranks; then, if asked for, by parameter how many ranks use it

  // Of all steps.
  bool is_rebuilt_ = false;
  std::vector<bool> is_used_first_;         // static_graph: by parameter, in this rank's first backward; empty before
  std::vector<bool> is_unused_everywhere_;  // by parameter; empty: not asked for
  std::chrono::nanoseconds exposed_communication_{0};
};

/// The range of DistributedDataParallel::accumulate().
template <typename Part>
class Accumulation {
 public:
  /// @param ddp, parts  Must outlive this object.
  Accumulation(DistributedDataParallel& ddp, std::span<const Part> parts) noexcept : ddp_(ddp), parts_(parts) {}
  ~Accumulation() { ddp_.is_last_part_to_come_ = false; }
  Accumulation(const Accumulation&) = delete;
  Accumulation& operator=(const Accumulation&) = delete;

  /// Single-pass.
  class Iterator {
   public:
    /// The micro-batch.
    [[nodiscard]] const Part& operator*() const noexcept { return loop_->parts_[index_]; }
    /// Goes to the next one; the last one's backward() averages.
    Iterator& operator++() {
      loop_->enter(++index_);
      return *this;
    }
    /// True behind the last one.
    bool operator==(std::default_sentinel_t /*end*/) const noexcept { return index_ == loop_->parts_.size(); }

   private:
    friend class Accumulation;
    explicit Iterator(Accumulation& loop) noexcept : loop_(&loop) {}
    Accumulation* loop_;
    std::size_t index_ = 0;
  };

  /// Begins the step. @throws  Where this rank has no data: as backward().
  [[nodiscard]] Iterator begin() {
    if constexpr (requires(const Part& part) { part.context.step; }) {
      if (!parts_.empty()) ddp_.step_ = parts_.front().context.step + 1;
    }
    ddp_.broadcast_buffers();
    if (parts_.empty()) ddp_.contribute_nothing();
    enter(0);
    return Iterator(*this);
  }
  /// What the iterator is compared with.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  void enter(std::size_t index) noexcept { ddp_.is_last_part_to_come_ = index + 1 < parts_.size(); }

  DistributedDataParallel& ddp_;
  std::span<const Part> parts_;
};

}  // namespace lockstep::ddp
