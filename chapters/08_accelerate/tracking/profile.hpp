#pragma once
/// @file
/// What a part of a training did and when, as a timeline for chrome://tracing and ui.perfetto.dev.
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

/// Accelerate's ProfileKwargs, as far as there is something to choose.
struct ProfileOptions {
  std::filesystem::path output_trace_dir{};  ///< Where traces go; made if need be. Empty: project_dir/profile.
};

/// While it lives, this rank records its steps, the calls of the accelerator and of what it has prepared, and every
/// collective of its group. Its end writes trace_rankN.json, in Chrome's trace event format; one file for each rank.
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
/// Lanes: "steps" (from a step's first recorded call to the end of its update), "compute" (what runs in the loop's
/// thread: "next batch", "backward", "clip_grad_norm", "optimizer.step", and record_function()), "communication". On a
/// GPU the spans of "compute" are the time to issue the work, not to do it. The newest 100 000 spans are kept.
///
/// Lifetime: within the accelerator's; begins and ends between two steps, on all ranks. Whoever has recorded the
/// group's collectives before (run::Run) gets them again when it ends, and misses those in between. Thread safety: one
/// thread.
/// @cost  Under a microsecond a span; writing about 200 bytes a span at the end.
/// @source  accelerate.Accelerator.profile, Hugging Face Accelerate 1; torch.profiler.record_function, PyTorch 2.
class Profile {
 public:
  /// By Accelerator::profile().
  /// @param shared  Of the accelerator. @param group  Outlives this object. @param folder  For the traces.
  /// @throws ContractError  Another profile is running. @throws IoError  The folder cannot be made.
  Profile(std::shared_ptr<GradientState> shared, comm::ProcessGroup& group, std::filesystem::path folder);
  /// Writes the trace; an error is logged.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// A span of one's own, as long as the returned object lives. @param name  On the timeline. @param category  Its
  /// colour.
  [[nodiscard]] trace::ScopedSpan record_function(std::string_view name,
                                                  trace::Category category = trace::Category::kOther) const {
    return {recorder_.get(), compute_lane_, name, category};
  }
  /// The file that this rank writes.
  [[nodiscard]] std::filesystem::path trace_file() const;

  /// @name For what prepare() gives
  /// @{

  /// A span on `profile`; of nothing where that is null.
  [[nodiscard]] static trace::ScopedSpan span(const Profile* profile, std::string_view name, trace::Category category) {
    return {profile == nullptr ? nullptr : profile->recorder_.get(), profile == nullptr ? 0 : profile->compute_lane_,
            name, category};
  }
  /// The first call of a step is about to run; does nothing within a step.
  void enter_step();
  /// An optimizer has made its update. Where several do, the last one ends the step.
  void leave_step() noexcept { end_ = trace::Clock::now(); }

  /// @}

 private:
  void record_step();

  std::shared_ptr<GradientState> shared_;
  comm::ProcessGroup& group_;
  std::filesystem::path folder_;
  std::shared_ptr<trace::Recorder> recorder_;
  std::shared_ptr<trace::Recorder> outer_;  // of the group's collectives before
  int compute_lane_, step_lane_;
  std::int64_t step_ = 0;                          // the running one, from 1; 0: none yet
  trace::Clock::time_point begin_{};               // of that
  std::optional<trace::Clock::time_point> end_{};  // of its last update so far
};

}  // namespace lockstep::accelerate
