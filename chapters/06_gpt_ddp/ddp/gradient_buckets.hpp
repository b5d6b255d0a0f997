#pragma once
/// @file
/// The buckets of a module's gradients, and the parameters' order in them.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "06_gpt_ddp/ddp/bucket_layout.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// Buckets in memory that the group allocates. A layout is a guess until the first step, or the order of an earlier
/// run, settles it. Thread safety: one thread.
class GradientBuckets {
 public:
  /// Lays the buckets out in the reverse order of `parameters`, roughly the order of their gradients in backward, and
  /// makes these gradients views into the buckets. Collective.
  /// @param parameters  At least one, on one device.
  GradientBuckets(std::vector<nn::NamedParameter> parameters, comm::ProcessGroup& group, const BucketLimits& limits);

  /// In the order in which they leave.
  [[nodiscard]] const std::vector<Bucket>& all() const noexcept { return buckets_; }
  /// Indexed by Bucket::parameters.
  [[nodiscard]] std::span<const nn::NamedParameter> parameters() const noexcept { return parameters_; }

  /// Whether the order is final.
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_; }
  /// Adopts the order in which rank 0's gradients became ready; other ranks' orders may differ. Parameters without a
  /// gradient come last. Gradients move to their new places. Collective.
  /// @param ready_order  This rank's.
  void settle(std::span<const std::size_t> ready_order, comm::ProcessGroup& group);

  /// The parameters' names in the order of the buckets; empty before it is settled.
  [[nodiscard]] std::vector<std::string> order() const;
  /// Adopts the order of an earlier run. Empty: changes nothing.
  /// @throws FormatError  Not the names of all parameters, each once.
  void set_order(std::span<const std::string> names);

 private:
  void fill(std::span<const std::size_t> order);

  std::vector<nn::NamedParameter> parameters_;
  BucketLimits limits_;
  std::vector<Bucket> buckets_;
  std::shared_ptr<Storage> memory_;  // for all buckets, the same in every layout
  bool is_settled_ = false;
};

}  // namespace lockstep::ddp
