#pragma once
/// @file
/// What happens to a bucket between the last of its gradients and their mean.
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
/// to the hook. All that it is made of outlives it. Thread safety: one thread.
class BucketExchange final : public BucketAverager {
 public:
  BucketExchange(const GradientBuckets& buckets, GradientAudit& audit, TargetCounter& targets,
                 comm::ProcessGroup& group, CommHook hook)
      : buckets_(buckets), audit_(audit), targets_(targets), group_(group), hook_(std::move(hook)) {}

  /// From now on buckets leave through `hook`.
  void set_hook(CommHook hook) { hook_ = std::move(hook); }

  void launch(std::size_t bucket) override;
  /// On a device nobody waits here: its streams do, at the end of the step.
  void wait(std::size_t bucket) override;

  /// What is still under way; forgets it.
  [[nodiscard]] std::vector<comm::Work> take_works() noexcept { return std::exchange(works_, {}); }

 private:
  const GradientBuckets& buckets_;
  GradientAudit& audit_;
  TargetCounter& targets_;
  comm::ProcessGroup& group_;
  CommHook hook_;
  std::vector<comm::Work> works_;  // of the buckets that have left in the running step
};

}  // namespace lockstep::ddp
