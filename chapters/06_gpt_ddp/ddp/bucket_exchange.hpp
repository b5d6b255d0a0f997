#pragma once
/// @file
/// The exchange of a bucket, from its last local gradient to the mean.
#include <cstddef>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ddp/gradient_audit.hpp"
#include "06_gpt_ddp/ddp/gradient_buckets.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "06_gpt_ddp/ddp/target_counter.hpp"
#include "06_gpt_ddp/ladder/reducer.hpp"
#include "comm/process_group.hpp"

namespace lockstep::ddp {

/// Averages buckets through a comm hook: a bucket is checked, weighted by this rank's share of the targets, and handed
/// to the hook. Its constructor's arguments must outlive it. Thread safety: one thread.
class BucketExchange final : public BucketAverager {
 public:
  BucketExchange(const GradientBuckets& buckets, GradientAudit& audit, TargetCounter& targets,
                 comm::ProcessGroup& group, CommHook hook)
      : buckets_(buckets), audit_(audit), targets_(targets), group_(group), hook_(std::move(hook)) {}

  /// Sends buckets through `hook` from now on.
  void set_hook(CommHook hook) { hook_ = std::move(hook); }

  void launch(std::size_t bucket) override;
  /// Does not block on a device, whose streams wait at the end of the step.
  void wait(std::size_t bucket) override;

  /// Hands over the works still in flight.
  [[nodiscard]] std::vector<comm::Work> take_works() noexcept { return std::exchange(works_, {}); }

 private:
  const GradientBuckets& buckets_;
  GradientAudit& audit_;
  TargetCounter& targets_;
  comm::ProcessGroup& group_;
  CommHook hook_;
  std::vector<comm::Work> works_;  // for the buckets that have left in the current step
};

}  // namespace lockstep::ddp
