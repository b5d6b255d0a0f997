#pragma once
/// @file
/// What every step is checked for before its gradients may be used: the same answer on all ranks.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ddp/device_verdict.hpp"
#include "06_gpt_ddp/ddp/gradient_faults.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "06_gpt_ddp/ddp/parameter_usage.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// Finds gradients that are not finite, that are missing, or that nobody averages. Ranks tell each other how many
/// faults they have found, because an error must end the step on all of them.
///
/// On the CPU the host knows at the end of the step. On a device the host issues the step and goes on: there
/// require_sound_gradients() or the end of the next step throws, and until then veto() forbids updates.
///
/// Order of calls, every step on every rank: prepare() for each bucket before it leaves, end_backward() or
/// contribute_nothing(), end_step(). Thread safety: one thread.
class GradientAudit {
 public:
  /// @param averaged  The parameters that buckets have. @param frozen  Others, which must not get gradients.
  GradientAudit(comm::ProcessGroup& group, std::span<const nn::NamedParameter> averaged,
                std::span<const nn::NamedParameter> frozen, const DdpOptions& options);
  ~GradientAudit();
  GradientAudit(const GradientAudit&) = delete;
  GradientAudit& operator=(const GradientAudit&) = delete;

  /// Buckets have been laid out, perhaps anew.
  void lay_out(std::span<const Bucket> buckets);

  /// All that are checked: those that are averaged, then the frozen ones.
  [[nodiscard]] std::span<const nn::NamedParameter> watched() const noexcept { return watched_; }
  /// Which parameters are used.
  [[nodiscard]] ParameterUsage& usage() noexcept { return usage_; }
  /// Whether the host knows of no device: it waits for every bucket.
  [[nodiscard]] bool is_on_host() const noexcept { return !verdict_; }

  /// A bucket is about to leave. What is missing becomes zeros, and what is not finite is found before the average
  /// spreads it over all ranks.
  void prepare(const Bucket& bucket);
  /// Backward has ended.
  void end_backward();

  /// All buckets have left. Waits for `works`, on a device without blocking the host, and for the other ranks' verdict.
  /// @param works  What is under way beside what has been waited for. @param begin  Since when this rank waits.
  /// @throws ContractError, Error  As throw_gradient_faults(), on all ranks.
  void end_step(std::span<comm::Work> works, std::chrono::steady_clock::time_point begin);
  /// On a device, throws what the last step has not waited for. @throws  As end_step().
  void require_sound_gradients();
  /// Not 0: the last step's gradients are wrong. Undefined on the CPU.
  [[nodiscard]] Tensor veto() const { return verdict_ ? verdict_->veto() : Tensor(); }

  /// For messages: the number of the running step, from 1.
  void set_step(std::int64_t step) noexcept { step_ = step; }
  /// See throw_gradient_faults().
  void set_advice(std::function<std::string()> advice) { advice_ = std::move(advice); }

  /// How long the last step whose end is known has waited with nothing left to compute.
  [[nodiscard]] std::chrono::nanoseconds exposed() const noexcept { return exposed_; }

 private:
  void end_step_on_device(std::span<comm::Work> works);
  [[nodiscard]] comm::Work reduce_counts();
  [[nodiscard]] std::vector<GradientFault> take_faults();

  comm::ProcessGroup& group_;
  std::vector<nn::NamedParameter> watched_;
  std::size_t averaged_count_;
  bool refuses_non_finite_;
  ParameterUsage usage_;
  std::optional<DeviceVerdict> verdict_;  // empty on the CPU
  std::vector<GradientFault> faults_;     // of the running step, by watched parameter
  Tensor counts_;  // int64: faults on all ranks; then, if there is a census, by parameter how many ranks use it
  std::function<std::string()> advice_;  // may be empty
  std::int64_t step_ = 1;
  std::chrono::nanoseconds exposed_{0};
};

}  // namespace lockstep::ddp
