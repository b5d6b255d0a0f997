#include "07_launch_and_survive/3_restart_policy/restart_policy.hpp"

#include <algorithm>

namespace lockstep::elastic {

Decision RestartPolicy::start_or_wait(std::chrono::seconds pause) {
  // TODO(07.3): are enough hosts there?
  lockstep::todo("07.3 start_or_wait");
}

Decision RestartPolicy::restart_or_end(int exit_code) {
  // TODO(07.3): is a restart left, and how long is the pause before it?
  lockstep::todo("07.3 restart_or_end");
}

Decision RestartPolicy::decide(const Event& event) {
  // TODO(07.3): tell failures, changes of hosts and ends of the job apart
  lockstep::todo("07.3 decide");
}

}  // namespace lockstep::elastic
