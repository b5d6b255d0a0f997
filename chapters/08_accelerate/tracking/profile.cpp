#include "08_accelerate/tracking/profile.hpp"

#include <exception>
#include <span>
#include <system_error>
#include <utility>

#include "08_accelerate/prepared/gradient_state.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/process_group.hpp"
#include "trace/trace_file.hpp"

namespace lockstep::accelerate {

Profile::Profile(std::shared_ptr<GradientState> shared, comm::ProcessGroup& group, std::filesystem::path folder)
    : shared_(std::move(shared)),
      group_(group),
      folder_(std::move(folder)),
      recorder_(std::make_shared<trace::Recorder>(group.rank())),
      compute_lane_(recorder_->lane("compute")),
      step_lane_(recorder_->lane("steps")) {
  require(shared_->profile == nullptr, "profile: a profile of this accelerator is running already; end it before");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw IoError(concat("making ", folder_.string()), error.value());
  outer_ = group_.record_to(recorder_);
  shared_->profile = this;
}

Profile::~Profile() {
  shared_->profile = nullptr;
  (void)group_.record_to(std::move(outer_));
  try {
    record_step();
    const trace::RankTrace own = recorder_->snapshot();
    trace::write_trace(trace_file(), {&own, 1});
  } catch (const std::exception& error) {
    Logger().error(concat("the profile is not written: ", error.what()));
  }
}

std::filesystem::path Profile::trace_file() const { return folder_ / trace::trace_file_name(recorder_->rank()); }

void Profile::enter_step() {
  if (step_ > 0 && !end_) return;
  record_step();
  recorder_->set_step(++step_);
  begin_ = trace::Clock::now();
}

// A step without an update is incomplete, and not shown.
void Profile::record_step() {
  if (!end_) return;
  recorder_->record(step_lane_, concat("step ", step_), trace::Category::kOther, begin_, *std::exchange(end_, {}));
}

}  // namespace lockstep::accelerate
