#include "06_gpt_ddp/ddp/device_verdict.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "device/copy.hpp"
#include "kernels/optimizer.hpp"

namespace lockstep::ddp {

DeviceVerdict::DeviceVerdict(Device device)
    : device_(device),
      end_stream_(device),
      compute_end_(device, Event::Timing::kTimed),
      step_end_(device, Event::Timing::kTimed) {}

void DeviceVerdict::lay_out(std::span<const Bucket> buckets) {
  ends_.clear();
  begins_.clear();
  indices_.clear();
  for (const Bucket& bucket : buckets) {
    begins_.push_back(indices_.size());
    indices_.insert(indices_.end(), bucket.parameters.begin(), bucket.parameters.end());
    ends_.push_back(Tensor::from(std::span(bucket.ends), {std::ssize(bucket.ends)}).to(device_));
  }
  counts_ = Tensor::zeros({std::ssize(indices_) + 1}, DType::kInt64, device_);
  total_ = Tensor::view_of(counts_.storage(), 0, {1}, DType::kInt64);
  arrived_ = Storage::allocate_pinned(static_cast<std::size_t>(counts_.bytes()), device_);
}

void DeviceVerdict::count(const Bucket& bucket, bool is_refused) {
  if (!std::exchange(is_counting_, true)) counts_.fill_zero();
  if (!is_refused) return;
  const std::size_t first = (1 + begins_[bucket.index]) * sizeof(std::int64_t);
  const Tensor by_part = Tensor::view_of(counts_.storage(), first, {std::ssize(bucket.ends)}, DType::kInt64);
  kernels::count_non_finite_by_part(total_, by_part, bucket.gradients, ends_[bucket.index]);
}

void DeviceVerdict::read_local_faults(std::span<GradientFault> faults) {
  is_counting_ = false;
  const Tensor here = counts_.to(Device{});
  const std::span<const std::int64_t> by_place = here.span<std::int64_t>().subspan(1);
  for (std::size_t place = 0; place < by_place.size(); ++place) {
    if (by_place[place] > 0) faults[indices_[place]] = GradientFault::kNotFinite;
  }
}

void DeviceVerdict::end_step(comm::ProcessGroup& group, std::span<comm::Work> works, std::vector<GradientFault> faults,
                             std::int64_t step) {
  const auto known = std::ranges::count_if(faults, [](GradientFault fault) { return fault != GradientFault::kNone; });
  if (known > 0) {  // no longer urgent
    const Tensor total = total_.to(Device{});
    total.span<std::int64_t>()[0] += known;
    total_.copy_from(total);
  }
  comm::Work counting = group.all_reduce(as_buffer(total_));
  const Stream& stream = current_stream(device_);
  compute_end_.record(stream);
  for (comm::Work& work : works) work.wait(end_stream_);
  counting.wait(end_stream_);
  stream.wait(end_stream_);
  copy_memory_async(arrived_->data(), counts_.data(), static_cast<std::size_t>(counts_.bytes()), stream);
  step_end_.record(stream);
  is_counting_ = false;
  pending_ = {std::move(faults), step};
}

std::span<const std::int64_t> DeviceVerdict::arrived() const {
  return {reinterpret_cast<const std::int64_t*>(arrived_->data()), indices_.size() + 1};
}

std::optional<DeviceVerdict::Refusal> DeviceVerdict::finish_pending() {
  if (!pending_) return std::nullopt;
  step_end_.synchronize();
  Pending last = *std::exchange(pending_, std::nullopt);
  exposed_ = std::chrono::nanoseconds(static_cast<std::int64_t>(1e6 * step_end_.milliseconds_since(compute_end_)));
  const std::span<const std::int64_t> counts = arrived();
  if (counts.front() == 0) return std::nullopt;
  for (std::size_t place = 0; place < indices_.size(); ++place) {
    if (counts[1 + place] > 0) last.faults[indices_[place]] = GradientFault::kNotFinite;
  }
  return Refusal{std::move(last.faults), last.step};
}

// Other ranks may have exited, so the message cannot name their faults.
void DeviceVerdict::warn_of_unread(const Logger& log) noexcept {
  if (std::uncaught_exceptions() > 0) return;
  try {
    const auto refusal = finish_pending();
    if (!refusal) return;
    log.warning(concat("step ", refusal->step, ": a rank's gradients were not finite or not complete, and parameters ",
                       "were not updated; the program ended before it asked about this step"));
  } catch (const std::exception& error) {
    log.warning(concat("it is not known how the last step ended: ", error.what()));
  }
}

}  // namespace lockstep::ddp
