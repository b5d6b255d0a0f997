#pragma once
/// @file
/// Checks every step before its gradients may be used: the same answer on all ranks.
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

/// Finds gradients that are not finite, missing, or never averaged. Ranks exchange the number of faults, because an
/// error must end the step on all of them.
///
/// On the CPU, the host knows the result at the end of the step. On a device, the host issues the step and goes on:
/// require_sound_gradients() or the end of the next step throws, and until then veto() blocks updates.
///
/// Order of calls, every step on every rank: prepare() for each bucket before it leaves, end_backward() or
/// contribute_nothing(), end_step(). Thread safety: one thread.
class GradientAudit {
 public:
  /// @param averaged  Parameters in buckets. @param frozen  The others, which must not get gradients.
  GradientAudit(comm::ProcessGroup& group, std::span<const nn::NamedParameter> averaged,
                std::span<const nn::NamedParameter> frozen, const DdpOptions& options);
  ~GradientAudit();
  GradientAudit(const GradientAudit&) = delete;
  GradientAudit& operator=(const GradientAudit&) = delete;

  /// Call after each layout of the buckets.
  void lay_out(std::span<const Bucket> buckets);

  /// The checked parameters: the averaged ones, then the frozen ones.
  [[nodiscard]] std::span<const nn::NamedParameter> watched() const noexcept { return watched_; }
  /// The parameters in use.
  [[nodiscard]] ParameterUsage& usage() noexcept { return usage_; }
  /// Whether gradients are on the CPU, so that the host waits for every bucket.
  [[nodiscard]] bool is_on_host() const noexcept { return !verdict_; }

  /// Call before a bucket leaves. Fills missing gradients with zeros, and finds non-finite ones before the average
  /// spreads them to all ranks.
  void prepare(const Bucket& bucket);
  /// Call at the end of backward.
  void end_backward();

  /// Call after all buckets have left. Waits for `works` (on a device, without blocking the host) and for the other
  /// ranks' verdict.
  /// @param works  Still in flight. @param begin  Start of this rank's wait.
  /// @throws ContractError, Error  As throw_gradient_faults(), on all ranks.
  void end_step(std::span<comm::Work> works, std::chrono::steady_clock::time_point begin);
  /// On a device, throws the faults that the last step did not wait for. @throws  As end_step().
  void require_sound_gradients();
  /// Nonzero if the last step's gradients are wrong. An undefined tensor on the CPU.
  [[nodiscard]] Tensor veto() const { return verdict_ ? verdict_->veto() : Tensor(); }

  /// For messages: the number of the current step, from 1.
  void set_step(std::int64_t step) noexcept { step_ = step; }
  /// See throw_gradient_faults().
  void set_advice(std::function<std::string()> advice) { advice_ = std::move(advice); }

  /// How long the last finished step waited with nothing left to compute.
  [[nodiscard]] std::chrono::nanoseconds exposed() const noexcept { return exposed_; }

 private:
  void end_step_on_device(std::span<comm::Work> works);
  [[nodiscard]] std::optional<DeviceVerdict::Refusal> finish_pending();
  [[nodiscard]] comm::Work reduce_counts();
  [[nodiscard]] std::vector<GradientFault> take_faults();

  comm::ProcessGroup& group_;
  std::vector<nn::NamedParameter> watched_;
  std::size_t averaged_count_;
  bool refuses_non_finite_;
  ParameterUsage usage_;
  std::optional<DeviceVerdict> verdict_;  // empty on the CPU
  std::vector<GradientFault> faults_;     // of the current step, by watched parameter
  Tensor counts_;  // int64: faults on all ranks; then, in a census, each parameter's number of users
  std::function<std::string()> advice_;  // may be empty
  std::int64_t step_ = 1;
  std::chrono::nanoseconds exposed_{0};
};

}  // namespace lockstep::ddp
