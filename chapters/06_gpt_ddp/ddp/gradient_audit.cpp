#include "06_gpt_ddp/ddp/gradient_audit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/ops.hpp"

namespace lockstep::ddp {
namespace {

bool is_finite(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) return kernels::is_finite(tensor);
  return std::ranges::all_of(tensor.span<double>(), [](double value) { return std::isfinite(value); });
}

}  // namespace

GradientAudit::GradientAudit(comm::ProcessGroup& group, std::span<const nn::NamedParameter> averaged,
                             std::span<const nn::NamedParameter> frozen, const DdpOptions& options)
    : group_(group),
      watched_(averaged.begin(), averaged.end()),
      averaged_count_(averaged.size()),
      refuses_non_finite_(options.refuse_non_finite),
      usage_(averaged, options) {
  watched_.insert(watched_.end(), frozen.begin(), frozen.end());
  faults_.resize(watched_.size());
  if (const Device device = watched_.front().parameter.value().device(); !device.is_cpu()) verdict_.emplace(device);
}

GradientAudit::~GradientAudit() {
  if (verdict_) verdict_->warn_of_unread(group_.context().log);
}

void GradientAudit::lay_out(std::span<const Bucket> buckets) {
  if (verdict_) verdict_->lay_out(buckets);
}

void GradientAudit::prepare(const Bucket& bucket) {
  for (const std::size_t i : bucket.parameters) usage_.fill_if_missing(i);
  if (verdict_) return verdict_->count(bucket, refuses_non_finite_);
  if (!refuses_non_finite_ || is_finite(bucket.gradients)) return;
  for (const std::size_t i : bucket.parameters) {
    if (!is_finite(watched_[i].parameter.gradient())) faults_[i] = GradientFault::kNotFinite;
  }
}

// Parameters that were frozen when the module was wrapped are in no bucket. If this or an earlier micro-batch of the
// step trained them anyway, they would silently drift apart.
void GradientAudit::end_backward() {
  usage_.find_faults(std::span(faults_).first(averaged_count_));
  for (std::size_t i = averaged_count_; i < watched_.size(); ++i) {
    if (watched_[i].parameter.has_gradient()) faults_[i] = GradientFault::kUnaveraged;
  }
}

std::vector<GradientFault> GradientAudit::take_faults() {
  return std::exchange(faults_, std::vector<GradientFault>(watched_.size()));
}

void GradientAudit::end_step(std::span<comm::Work> works, std::chrono::steady_clock::time_point begin) {
  if (verdict_ && !usage_.needs_census()) return end_step_on_device(works);
  if (verdict_) verdict_->read_local_faults(faults_);
  comm::Work counting = reduce_counts();
  for (comm::Work& work : works) work.synchronize();
  counting.synchronize();
  exposed_ = std::chrono::steady_clock::now() - begin;
  const std::span<const std::int64_t> counts = counts_.span<std::int64_t>();
  if (usage_.needs_census()) usage_.apply_usage_counts(counts.subspan(1));
  usage_.end_step();
  const std::vector<GradientFault> faults = take_faults();
  if (counts.front() > 0) throw_gradient_faults(group_, watched_, faults, step_, advice_);
  ++step_;
}

comm::Work GradientAudit::reduce_counts() {
  std::vector<std::int64_t> row{
      std::ranges::count_if(faults_, [](GradientFault fault) { return fault != GradientFault::kNone; })};
  if (usage_.needs_census()) row.insert(row.end(), usage_.own().begin(), usage_.own().end());
  counts_ = Tensor::from(std::span<const std::int64_t>(row), {static_cast<std::int64_t>(row.size())});
  return group_.all_reduce(as_buffer(counts_));  // the tensor's storage outlives a failed collective
}

// The host waits for the other hosts, so that no parameter is updated if ranks disagree on the collectives, but not for
// the device, which finished the previous step a while ago. If that one was wrong, this one is ended all the same: its
// collectives are in flight on all ranks.
void GradientAudit::end_step_on_device(std::span<comm::Work> works) {
  std::vector<GradientFault> faults = take_faults();
  usage_.end_step();
  const std::optional<DeviceVerdict::Refusal> last = finish_pending();
  verdict_->end_step(group_, works, std::move(faults), step_);
  group_.require_agreement();
  ++step_;
  if (last) throw_gradient_faults(group_, watched_, last->faults, last->step, advice_);
}

std::optional<DeviceVerdict::Refusal> GradientAudit::finish_pending() {
  std::optional<DeviceVerdict::Refusal> refusal = verdict_->finish_pending();
  exposed_ = verdict_->exposed();
  return refusal;
}

void GradientAudit::require_sound_gradients() {
  if (!verdict_) return;
  if (const auto refusal = finish_pending()) {
    throw_gradient_faults(group_, watched_, refusal->faults, refusal->step, advice_);
  }
}

}  // namespace lockstep::ddp
