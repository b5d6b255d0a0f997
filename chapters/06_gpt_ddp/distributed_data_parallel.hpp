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
#include <string>
#include <vector>

#include "autograd/variable.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// Sizes of gradient buckets; PyTorch's defaults.
struct DdpOptions {
  std::int64_t first_bucket_bytes = std::int64_t{1} << 20;  ///< Small, so that communication starts early.
  std::int64_t bucket_bytes = std::int64_t{25} << 20;       ///< Large enough that latency does not matter.
};

/// One bucket: its memory and where each parameter's gradient lies in it.
struct Bucket {
  std::vector<std::size_t> parameters;  ///< Indices into parameters(), in the order in which they lie in `gradients`.
  Tensor gradients;                     ///< [count], one dtype; views start at multiples of 64 bytes.
  std::size_t ready_count = 0;          ///< Parameters whose gradient is final in the running backward.
};

/// Averages a module's gradients over the ranks of a group (PyTorch's class of the same name).
///
/// Order of calls, every step on every rank: zero_grad, forward, backward, optimizer step. When backward() returns, the
/// gradients are the averages and identical on all ranks bit for bit (on star and ring). Lifetime: module and group
/// must outlive this object, which rebinds the parameters' gradients to its buckets. Thread safety: none; one thread.
/// @source Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13(12), 2020.
class DistributedDataParallel final : private autograd::GradientObserver {
 public:
  /// Copies rank 0's parameters to every rank, lays out the buckets and starts to watch the gradients.
  /// @throws MismatchError  Ranks hold different parameters (their number, shapes or dtypes).
  /// @throws ContractError  A parameter is watched already.
  /// @cost   One broadcast of all parameters; gradient memory is allocated by the group.
  DistributedDataParallel(nn::Module& module, comm::ProcessGroup& group, const DdpOptions& options = {});
  ~DistributedDataParallel() override;

  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  /// The wrapped module: what is saved, so that a checkpoint does not know how many ranks trained it.
  [[nodiscard]] nn::Module& module() const noexcept { return module_; }

  /// In bucket order: the first to leave comes first.
  [[nodiscard]] const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

  /// Time that the last backward() spent waiting for communication after its last computation.
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

 private:
  void on_gradient_ready(autograd::Variable& parameter) override;
  void on_backward_end() override;

  void broadcast_parameters();
  void lay_out_buckets(const DdpOptions& options);
  void allocate_bucket(Bucket& bucket);
  void launch_ready_buckets();
  void require_all_ready();

  nn::Module& module_;
  comm::ProcessGroup& group_;
  std::vector<nn::NamedParameter> parameters_;
  std::vector<std::size_t> bucket_of_;  // parameter index -> bucket index
  std::vector<bool> is_ready_;          // parameter index -> gradient final in the running backward
  std::vector<Bucket> buckets_;
  std::vector<comm::Work> in_flight_;
  std::size_t next_to_launch_ = 0;
  int no_sync_depth_ = 0;
  std::chrono::nanoseconds exposed_communication_{0};
};

}  // namespace lockstep::ddp
