#pragma once
/// @file
/// How a step on a device is judged without stopping the host: the device counts what is wrong, and the host reads the
/// count one step late, or when it has come to wait for the device anyway.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "06_gpt_ddp/ddp/bucket_layout.hpp"
#include "06_gpt_ddp/ddp/gradient_faults.hpp"
#include "base/log.hpp"
#include "comm/process_group.hpp"
#include "device/stream.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::ddp {

/// A host that asked each bucket whether it is finite would wait for backward, bucket by bucket, and the device for the
/// host after each of them. Here kernels count non-finite elements, by parameter and in all; the total is reduced over
/// the ranks beside the buckets, and while it is not 0 it forbids updates on the device (veto(); PyTorch's GradScaler
/// and fused optimizers have found_inf for that). So nothing is lost if the host learns of it later.
///
/// Order of calls on every rank: lay_out(); then for each step count() for each bucket, end_step(), settle().
class DeviceVerdict {
 public:
  /// @param device  Of all gradients.
  explicit DeviceVerdict(Device device);

  /// To be called when buckets have memory, and again when they are laid out anew.
  void lay_out(std::span<const Bucket> buckets);
  /// Has the device count what is not finite in a bucket that is about to leave.
  /// @param is_refused  False: there is nothing to be counted, because it may be.
  void count(const Bucket& bucket, bool is_refused);
  /// In place of end_step(), for a step that must know more of the ranks than one count: adds what this rank has
  /// counted to `faults`. Blocks the host.
  void take_own(std::span<GradientFault> faults);

  /// Ends a step: the current stream waits for `works` and for the ranks' count, which the host can ask for later.
  /// @param works   The buckets under way.
  /// @param faults  What the host has found, one per parameter.
  /// @param step    Counts from 1.
  void end_step(comm::ProcessGroup& group, std::span<comm::Work> works, std::vector<GradientFault> faults,
                std::int64_t step);

  /// A step whose gradients are wrong on some rank.
  struct Refusal {
    std::vector<GradientFault> faults;  ///< Of this rank, by parameter; another rank's are not known here.
    std::int64_t step;                  ///< As end_step() was told.
  };
  /// Blocks the host until the last step's count is there, if it has not been asked for yet.
  /// @return  Nothing: all is well. The same answer on all ranks.
  [[nodiscard]] std::optional<Refusal> settle();

  /// At the end: says so where the last step was wrong and nobody has asked.
  void warn_of_unread(const Logger& log) noexcept;

  /// Not 0: the last step's gradients are wrong on some rank.
  [[nodiscard]] Tensor veto() const { return total_; }
  /// How long the device has waited for communication with nothing left to compute, in the last step that settle() or
  /// end_step() has seen the end of.
  [[nodiscard]] std::chrono::nanoseconds exposed() const noexcept { return exposed_; }

 private:
  struct Pending {
    std::vector<GradientFault> faults;
    std::int64_t step;
  };
  [[nodiscard]] std::span<const std::int64_t> arrived() const;

  Device device_;
  Stream end_stream_;  // waits for communication, so that a handle of the current stream is not needed
  Event compute_end_, step_end_;
  Tensor counts_, total_;            // int64 [1 + parameters] on the device: in all, then by place; total_ is the first
  std::vector<Tensor> ends_;         // of each bucket, Bucket::ends on the device
  std::vector<std::size_t> begins_;  // of each bucket, its first place
  std::vector<std::size_t> indices_;  // place -> parameter
  std::shared_ptr<Storage> arrived_;  // counts_ in pinned memory, once step_end_ is over
  bool is_counting_ = false;
  std::optional<Pending> pending_;
  std::chrono::nanoseconds exposed_{0};
};

}  // namespace lockstep::ddp
