#include "comm/get_or_fail.hpp"

#include "comm/control/control_plane.hpp"
#include "store/store.hpp"

namespace lockstep::comm {
namespace {

// How long a rank that has lost the store waits for the control plane to report which rank died.
constexpr std::chrono::milliseconds kFailureLimit{900};

}  // namespace

void throw_if_job_failed(const JobContext& context, std::string_view task) {
  const auto failure = context.control ? context.control->failure() : nullptr;
  if (failure) std::rethrow_exception(to_exception(*failure, std::string(task)));
}

void tell_job_of(const JobContext& context, const TimeoutError& error) noexcept {
  if (context.control) context.control->abort({FailureKind::kTimeout, -1, error.what()});
}

std::string get_or_fail(const JobContext& context, const std::string& key, std::string_view task,
                        const Deadline& deadline) {
  for (;;) {
    try {
      return context.store->get(key, Deadline::after(kJobWaitSlice).earliest(deadline));
    } catch (const TimeoutError&) {
      throw_if_job_failed(context, task);
      if (!deadline.has_expired()) continue;
      const TimeoutError error(concat(task, ": not within ", format_seconds(deadline.waited())));
      tell_job_of(context, error);
      throw error;
    } catch (const IoError& error) {  // the store ends with the rank that serves it
      if (context.control) (void)context.control->wait_for_failure(Deadline::after(kFailureLimit));
      throw_if_job_failed(context, task);
      throw IoError(concat(task, ": ", error.what()));
    }
  }
}

}  // namespace lockstep::comm
