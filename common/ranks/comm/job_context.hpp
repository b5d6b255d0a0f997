#pragma once
/// @file
/// This process's place in its job, and its connections to the other ranks.
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

/// Time limits of a job.
struct JobLimits {
  std::chrono::milliseconds join{60'000};             ///< For all ranks to appear at the rendezvous.
  std::chrono::milliseconds liveness{15'000};         ///< Silence after which a rank counts as dead.
  std::chrono::milliseconds progress_report{10'000};  ///< An incomplete collective: report the missing ranks.
  std::chrono::milliseconds progress{300'000};        ///< An incomplete collective: fail, even if data still moves.
};

/// One rank's membership in a job, made by rendezvous(). Copies share the store and the control plane.
struct JobContext {
  int rank = 0;                            ///< In [0, world_size).
  int world_size = 1;                      ///< At least 1.
  int local_rank = 0;                      ///< Among the ranks of this host.
  int local_world_size = 1;                ///< Ranks on this host.
  int generation = 0;                      ///< Number of restarts; ranks of earlier generations are rejected.
  std::string token;                       ///< Secret of the job, proved on every connection; never printed.
  std::string bind_address = "127.0.0.1";  ///< For this rank's listeners.
  JobLimits limits;
  Logger log;  ///< Lines begin with "rank N".

  /// For a group made by ProcessGroup::split(): the job's rank of each of its ranks. Empty: the group is the whole job.
  std::vector<int> global_ranks;
  std::optional<int> group_id;  ///< For such a group, its number in the job; unset: the next free one.

  /// The job's rank of the group's rank `r`, as shown in messages.
  [[nodiscard]] int global_rank(int r) const { return global_ranks.empty() ? r : global_ranks.at(r); }

  std::shared_ptr<store::Store> store;              ///< Null if world_size is 1.
  std::shared_ptr<ControlPlane> control;            ///< Null if world_size is 1.
  std::shared_ptr<FlightRecorder> flight_recorder;  ///< Null: nothing is recorded.

  /// A copy without store, control plane and flight recorder, for threads that store and control plane own.
  [[nodiscard]] JobContext without_shared_parts() const {
    JobContext context = *this;
    context.store.reset();
    context.control.reset();
    context.flight_recorder.reset();
    return context;
  }
};

}  // namespace lockstep::comm
