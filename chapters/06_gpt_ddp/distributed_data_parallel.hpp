#pragma once
/// @file
/// Data parallelism for a module: every rank holds the same parameters, computes gradients on its own share of the
/// batch, and averages them with all other ranks while backward is still running.
///
/// Vocabulary. A *bucket* is one contiguous block of gradient memory shared by several parameters; each of their
/// gradients is a *view* into it. A bucket *leaves* (its all-reduce is issued) when the gradients of all its parameters
/// are final. Communication is *exposed* while the rank waits for it with nothing left to compute.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ddp/bucket_exchange.hpp"
#include "06_gpt_ddp/ddp/gradient_audit.hpp"
#include "06_gpt_ddp/ddp/gradient_buckets.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "06_gpt_ddp/ddp/step_protocol.hpp"
#include "06_gpt_ddp/ladder/reducer.hpp"
#include "autograd/variable.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// Averages a module's gradients over the ranks of a group (PyTorch's class of the same name). It is itself a module
/// with a single child, "module": its parameters are the wrapped module's, with the prefix "module.".
///
/// Order of calls, every step on every rank: zero_grad, forward, backward, optimizer step. When backward() returns, the
/// gradients are the averages, bit-identical on all ranks, and the buffers are rank 0's. If a rank finds a fault in its
/// gradients (a missing one, NaN, or one for a parameter that was frozen when the module was wrapped, so that no bucket
/// has it), backward() throws the same message on all ranks; for devices see GradientAudit. Lifetime: module and group
/// must outlive this object. It rebinds the parameters' gradients to its buckets, and does so again at the end of the
/// first step's backward, so that buckets fill in the order in which rank 0's gradients became ready. In that step
/// nothing leaves earlier. Thread safety: none; one thread.
/// @source Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13(12), 2020.
class DistributedDataParallel final : public nn::Module, public StepProtocol, private autograd::GradientObserver {
 public:
  /// Copies rank 0's parameters and buffers to every rank, lays out the buckets and starts observing the gradients.
  /// @throws MismatchError  Ranks hold different parameters or buffers (number, names, shapes or dtypes).
  /// @throws ContractError  A parameter is already observed, or there is none.
  /// @cost   One broadcast of all parameters; gradient memory is allocated by the group.
  DistributedDataParallel(nn::Module& module, comm::ProcessGroup& group, const DdpOptions& options = {});
  ~DistributedDataParallel() override;
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  /// The wrapped module. Save this one, so that checkpoints do not depend on the wrapper.
  [[nodiscard]] nn::Module& module() const noexcept { return module_; }

  /// Sends buckets through `hook` from now on; the same hook on all ranks. @pre  Not during backward().
  void register_comm_hook(CommHook hook) { exchange_.set_hook(std::move(hook)); }
  /// Call on all ranks. The text from rank 0's function, advice on how to go on, is appended to the message about a
  /// non-finite gradient.
  void set_advice(std::function<std::string()> advice) { audit_.set_advice(std::move(advice)); }

  /// In the order in which they leave.
  [[nodiscard]] const std::vector<Bucket>& buckets() const noexcept { return buckets_.all(); }
  /// The order of the parameters in the buckets, by name; empty until a step has settled it. It decides the order of
  /// additions, so a run that should resume bit for bit must save it.
  [[nodiscard]] std::vector<std::string> bucket_order() const { return buckets_.order(); }
  /// Uses the order of an earlier run instead of the first step's. Empty: changes nothing.
  /// @param names  From bucket_order(), at any number of ranks; the same on all of them. @pre  No step has begun.
  /// @throws FormatError  Not the module's parameters, each once.
  void set_bucket_order(std::span<const std::string> names);
  /// Changes nothing. @throws FormatError  As set_bucket_order().
  void require_bucket_order(std::span<const std::string> names) const {
    if (!names.empty()) (void)indices_of(names, buckets_.parameters());
  }

  /// How long the last finished backward (on a GPU: the device) sat idle, waiting for communication.
  [[nodiscard]] std::chrono::nanoseconds exposed_communication() const noexcept { return audit_.exposed(); }

  /// As StepProtocol::average(). @throws  As require_sound_gradients(), on a device.
  [[nodiscard]] double average(double value) override;

  /// On a device, throws the faults that the last backward() did not wait for: for loops that neither clip nor average,
  /// before they save the parameters. Call on all ranks.
  /// @throws ContractError, Error  A rank's gradients are wrong; names them.
  void require_sound_gradients() override { audit_.require_sound_gradients(); }

  /// Contributes zeros in every bucket.
  void contribute_nothing() override;

  /// Copies rank 0's buffers to every rank, if the options say so. accumulate() calls it before forward; backward()
  /// calls it at the end of each averaging step, for loops without accumulate() and for evaluations.
  void broadcast_buffers();

 private:
  [[nodiscard]] bool is_syncing() const noexcept { return options_.average_gradients && is_last_part(); }
  void begin_step(std::optional<std::int64_t> step) override;
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
  BucketExchange exchange_;
  std::unordered_map<const autograd::Variable::Node*, std::size_t> index_of_;  // of the parameter in buckets_
  std::optional<Reducer> reducer_;                                             // for the current layout
  std::vector<std::size_t> ready_order_;  // parameters in order of readiness, until a step has settled the layout
};

}  // namespace lockstep::ddp
