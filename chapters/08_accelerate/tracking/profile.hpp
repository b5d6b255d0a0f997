#pragma once
/// @file
/// A timeline of part of a training run, for chrome://tracing and ui.perfetto.dev.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "trace/recorder.hpp"

namespace lockstep::comm {
class ProcessGroup;
}  // namespace lockstep::comm

namespace lockstep::accelerate {

struct GradientState;

/// Accelerate's ProfileKwargs, as far as there are choices here.
struct ProfileOptions {
  std::filesystem::path output_trace_dir{};  ///< Folder for traces; created if needed. Empty: project_dir/profile.
};

/// While it exists, this rank records its steps, the calls of the accelerator and its prepared objects, and every
/// collective of its group. Its destructor writes trace_rankN.json, in Chrome's trace event format; one file per rank.
/// ```cpp
/// const auto profile = accelerator.profile();
/// for (const data::Batch& batch : batches) {
///   const auto scope = accelerator.accumulate(net);
///   const auto loss = [&] {
///     const auto span = profile.record_function("forward", trace::Category::kForward);
///     return net->loss(batch);
///   }();
///   accelerator.backward(loss);
///   adam.step(rate.get_last_lr());
/// }
/// ```
/// Lanes: "steps" (from a step's first recorded call to the end of its update), "compute" (the work of the loop's
/// thread: "next batch", "backward", "clip_grad_norm", "optimizer.step", and record_function()), "communication". On a
/// GPU the spans of "compute" are the time to issue the work, not to do it. The newest 100 000 spans are kept.
///
/// Lifetime: within the accelerator's; begins and ends between two steps, on all ranks. An earlier recorder of the
/// group's collectives (run::Run) misses those in between, and resumes afterwards. Thread safety: one thread.
/// @cost  Under a microsecond per span; at the end, writes about 200 bytes per span.
/// @source  accelerate.Accelerator.profile, Hugging Face Accelerate 1; torch.profiler.record_function, PyTorch 2.
class Profile {
 public:
  /// Used by Accelerator::profile().
  /// @param shared  The accelerator's. @param group  Outlives this object. @param folder  For the traces.
  /// @throws ContractError  Another profile is running. @throws IoError  The folder cannot be made.
  Profile(std::shared_ptr<GradientState> shared, comm::ProcessGroup& group, std::filesystem::path folder);
  /// Writes the trace; an error is logged.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// A custom span, as long as the returned object exists. @param name  On the timeline. @param category  Its colour.
  [[nodiscard]] trace::ScopedSpan record_function(std::string_view name,
                                                  trace::Category category = trace::Category::kOther) const {
    return {recorder_.get(), compute_lane_, name, category};
  }
  /// This rank's file.
  [[nodiscard]] std::filesystem::path trace_file() const;

  /// @name For what prepare() gives
  /// @{

  /// A span on `profile`; an empty one if that is null.
  [[nodiscard]] static trace::ScopedSpan span(const Profile* profile, std::string_view name, trace::Category category) {
    return {profile == nullptr ? nullptr : profile->recorder_.get(), profile == nullptr ? 0 : profile->compute_lane_,
            name, category};
  }
  /// Call before each call of a step; only the first has an effect.
  void enter_step();
  /// Call after an optimizer's update. With several optimizers, the last one ends the step.
  void leave_step() noexcept { end_ = trace::Clock::now(); }

  /// @}

 private:
  void record_step();

  std::shared_ptr<GradientState> shared_;
  comm::ProcessGroup& group_;
  std::filesystem::path folder_;
  std::shared_ptr<trace::Recorder> recorder_;
  std::shared_ptr<trace::Recorder> outer_;  // the group's earlier recorder
  int compute_lane_, step_lane_;
  std::int64_t step_ = 0;                          // the current one, from 1; 0: none yet
  trace::Clock::time_point begin_{};               // its begin
  std::optional<trace::Clock::time_point> end_{};  // its last update so far
};

}  // namespace lockstep::accelerate
