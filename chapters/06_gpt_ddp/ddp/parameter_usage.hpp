#pragma once
/// @file
/// Which parameters a step uses, on this rank and on all ranks.
#include <cstdint>
#include <span>
#include <vector>

#include "06_gpt_ddp/ddp/gradient_faults.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// A parameter is used if it has a gradient at the end of a step, even from an earlier micro-batch. An unused one is a
/// fault, unless the options allow it: then it counts as zeros, and if no rank has used it, it ends without a gradient,
/// as in a single process. Order of calls: see GradientAudit. Thread safety: one thread.
class ParameterUsage {
 public:
  /// @param parameters  Those in buckets. @param options  Only find_unused_parameters and static_graph matter.
  ParameterUsage(std::span<const nn::NamedParameter> parameters, const DdpOptions& options);

  /// Call when backward has produced a gradient.
  void on_gradient_ready(std::size_t parameter) { is_filled_[parameter] = false; }
  /// Gives a parameter zeros if it has no gradient.
  void fill_if_missing(std::size_t parameter);
  /// For a step without data on this rank: fills all with zeros; nothing is used.
  void fill_all();
  /// Call at the end of backward. @param faults  By parameter; receives missing and unexpected ones.
  void find_faults(std::span<GradientFault> faults);

  /// False if a static graph rules out a gradient on this rank.
  [[nodiscard]] bool is_awaited(std::size_t parameter) const {
    return !options_.static_graph || is_used_first_.empty() || is_used_first_[parameter];
  }

  /// Whether the ranks must exchange their used parameters in this step.
  [[nodiscard]] bool needs_census() const noexcept {
    return options_.static_graph ? is_unused_everywhere_.empty() : options_.find_unused_parameters;
  }
  /// By parameter: whether this rank uses it.
  [[nodiscard]] const std::vector<bool>& own() const noexcept { return is_used_; }
  /// @param users  By parameter, how many ranks use it.
  void apply_usage_counts(std::span<const std::int64_t> users);

  /// Removes the zeros of parameters that no rank has used, and ends the step.
  void end_step();

 private:
  [[nodiscard]] bool may_be_unused() const noexcept { return options_.find_unused_parameters || options_.static_graph; }

  std::vector<nn::NamedParameter> parameters_;
  DdpOptions options_;
  std::vector<bool> is_used_;               // by parameter: this rank has a gradient for it
  std::vector<bool> is_filled_;             // by parameter: its gradient is filled-in zeros
  std::vector<bool> is_used_first_;         // static_graph: by parameter, in this rank's first backward; or empty
  std::vector<bool> is_unused_everywhere_;  // by parameter; empty without a census
};

}  // namespace lockstep::ddp
