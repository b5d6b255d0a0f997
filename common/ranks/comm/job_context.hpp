#pragma once
/// @file
/// Who this process is in its job, and how it reaches the others.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace lockstep::store {
class Store;
}

namespace lockstep::comm {

class ControlPlane;
class FlightRecorder;

/// How long a job waits for whom.
struct JobLimits {
  std::chrono::milliseconds join{60'000};             ///< For all ranks to appear at the rendezvous.
  std::chrono::milliseconds liveness{15'000};         ///< Without a heartbeat, after which a rank counts as dead.
  std::chrono::milliseconds progress_report{10'000};  ///< A collective entered but incomplete: name who is missing.
  std::chrono::milliseconds progress{300'000};        ///< A collective entered but incomplete: fail.
};

/// One rank's membership in a job, made by rendezvous(). Copies share the store and the control plane.
struct JobContext {
  int rank = 0;                            ///< In [0, world_size).
  int world_size = 1;                      ///< At least 1.
  int local_rank = 0;                      ///< Among the ranks of this host.
  int local_world_size = 1;                ///< Ranks on this host.
  int generation = 0;                      ///< Counts restarts; a rank of an earlier one is refused.
  std::string token;                       ///< Secret of the job, proved on every connection; never printed.
  std::string bind_address = "127.0.0.1";  ///< Where this rank's listeners bind.
  JobLimits limits;                        ///< How long to wait for whom.
  Logger log;                              ///< Begins lines with "rank N".

  /// Of a group made by ProcessGroup::split(): the job's rank of each of its ranks. Empty: the group is the whole job.
  std::vector<int> global_ranks;
  std::optional<int> group_id;  ///< Of such a group, its number in the job; unset: the next one.

  /// The job's rank of rank `r` of the group: what messages name.
  [[nodiscard]] int global_rank(int r) const { return global_ranks.empty() ? r : global_ranks.at(r); }

  std::shared_ptr<store::Store> store;              ///< Null where world_size is 1.
  std::shared_ptr<ControlPlane> control;            ///< Null where world_size is 1.
  std::shared_ptr<FlightRecorder> flight_recorder;  ///< Null: nothing is recorded.

  /// A copy without what copies share: for threads that store and control plane own.
  [[nodiscard]] JobContext without_shared_parts() const {
    JobContext context = *this;
    context.store.reset();
    context.control.reset();
    context.flight_recorder.reset();
    return context;
  }
};

}  // namespace lockstep::comm
