#pragma once
/// @file
/// Checks a step on a device without stopping the host: the device counts faults, and the host reads the count one step
/// later, or when it waits for the device anyway.
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

/// If the host checked each bucket, it would wait for the device after every one, and the device for the host. Here
/// kernels count non-finite elements, by parameter and in total; the total is reduced over the ranks alongside the
/// buckets, and a nonzero total blocks updates on the device (veto(); compare found_inf of PyTorch's GradScaler and
/// fused optimizers). So the host may learn of it later.
///
/// Order of calls on every rank: lay_out(); then, in each step, count() for each bucket, end_step(), finish_pending().
class DeviceVerdict {
 public:
  /// @param device  The device of all gradients.
  explicit DeviceVerdict(Device device);

  /// Call once buckets have memory, and again after each new layout.
  void lay_out(std::span<const Bucket> buckets);
  /// Counts, on the device, the non-finite elements of a bucket that is about to leave.
  /// @param is_refused  False: non-finite elements are allowed, and not counted.
  void count(const Bucket& bucket, bool is_refused);
  /// Replaces end_step() in a step whose ranks exchange more than one count: adds this rank's counted faults to
  /// `faults`. Blocks the host.
  void read_local_faults(std::span<GradientFault> faults);

  /// Ends a step: the current stream waits for `works` and for the ranks' count, which the host can read later.
  /// @param works   The buckets in flight.
  /// @param faults  The faults found by the host, one per parameter.
  /// @param step    Counts from 1.
  void end_step(comm::ProcessGroup& group, std::span<comm::Work> works, std::vector<GradientFault> faults,
                std::int64_t step);

  /// A step whose gradients are wrong on some rank.
  struct Refusal {
    std::vector<GradientFault> faults;  ///< This rank's, by parameter; other ranks' are unknown here.
    std::int64_t step;                  ///< As given to end_step().
  };
  /// Blocks the host until the last step's count is known, unless it has been read already.
  /// @return  Nothing if all gradients are sound. The same on all ranks.
  [[nodiscard]] std::optional<Refusal> finish_pending();

  /// At the end: warns if the last step was wrong and nothing has read its verdict.
  void warn_of_unread(const Logger& log) noexcept;

  /// Nonzero if the last step's gradients are wrong on some rank.
  [[nodiscard]] Tensor veto() const { return total_; }
  /// How long the device sat idle, waiting for communication, in the last step that finish_pending() or end_step() has
  /// seen finished.
  [[nodiscard]] std::chrono::nanoseconds exposed() const noexcept { return exposed_; }

 private:
  struct Pending {
    std::vector<GradientFault> faults;
    std::int64_t step;
  };
  [[nodiscard]] std::span<const std::int64_t> arrived() const;

  Device device_;
  Stream end_stream_;  // waits for communication, so that no handle of the current stream is needed
  Event compute_end_, step_end_;
  Tensor counts_, total_;             // int64 [1 + parameters] on the device: the total (total_), then by place
  std::vector<Tensor> ends_;          // for each bucket, Bucket::ends on the device
  std::vector<std::size_t> begins_;   // for each bucket, its first place
  std::vector<std::size_t> indices_;  // place -> parameter
  std::shared_ptr<Storage> arrived_;  // counts_ in pinned memory, valid after step_end_
  bool is_counting_ = false;
  std::optional<Pending> pending_;
  std::chrono::nanoseconds exposed_{0};
};

}  // namespace lockstep::ddp
