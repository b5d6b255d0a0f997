#pragma once
/// @file
/// Which parameters a step uses, on this rank and on all.
#include <cstdint>
#include <span>
#include <vector>

#include "06_gpt_ddp/ddp/gradient_faults.hpp"
#include "06_gpt_ddp/ddp/options.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// A parameter is used if it has a gradient at the end of a step, be it from an earlier micro-batch. One that is not is
/// a fault, unless the options allow it: then it counts as zeros, and if no rank has used it, it ends without a
/// gradient, as it would in a single process. Order of calls: see GradientAudit. Thread safety: one thread.
class ParameterUsage {
 public:
  /// @param parameters  Those that buckets have. @param options  find_unused_parameters and static_graph count.
  ParameterUsage(std::span<const nn::NamedParameter> parameters, const DdpOptions& options);

  /// Backward has produced a gradient.
  void on_gradient_ready(std::size_t parameter) { is_filled_[parameter] = false; }
  /// Gives a parameter zeros if it has no gradient.
  void fill_if_missing(std::size_t parameter);
  /// This rank has no data in this step: zeros everywhere, and nothing is used.
  void fill_all();
  /// At the end of backward. @param faults  By parameter; those that should have been used, or not, are entered.
  void find_faults(std::span<GradientFault> faults);

  /// False: a static graph has promised that this rank gets no gradient for it.
  [[nodiscard]] bool is_awaited(std::size_t parameter) const {
    return !options_.static_graph || is_used_first_.empty() || is_used_first_[parameter];
  }

  /// Whether the ranks must tell each other what they use in this step.
  [[nodiscard]] bool needs_census() const noexcept {
    return options_.static_graph ? is_unused_everywhere_.empty() : options_.find_unused_parameters;
  }
  /// By parameter: whether this rank uses it.
  [[nodiscard]] const std::vector<bool>& own() const noexcept { return is_used_; }
  /// @param users  By parameter, how many ranks use it.
  void take_census(std::span<const std::int64_t> users);

  /// Takes the zeros away again that no rank has used, and ends the step.
  void end_step();

 private:
  [[nodiscard]] bool may_be_unused() const noexcept { return options_.find_unused_parameters || options_.static_graph; }

  std::vector<nn::NamedParameter> parameters_;
  DdpOptions options_;
  std::vector<bool> is_used_;               // by parameter: this rank has a gradient for it
  std::vector<bool> is_filled_;             // by parameter: its gradient is zeros that its bucket took along
  std::vector<bool> is_used_first_;         // static_graph: by parameter, in this rank's first backward; empty before
  std::vector<bool> is_unused_everywhere_;  // by parameter; empty: not asked for
};

}  // namespace lockstep::ddp
