#pragma once
/// @file
/// Pages for programs that watch a job: a health check, and metrics in Prometheus' text format.
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "launch/watching/http_server.hpp"

namespace lockstep::launch {

/// Answers /healthz and /metrics from the files that the ranks of this host write (LOCKSTEP_FLIGHT_DIR). It does not
/// query the ranks, so that hung or killed ones are shown too.
///
/// /healthz is JSON, {"status", "generation", "ranks"}: 200 while an attempt runs ("running") or none has begun yet
/// ("starting"), 503 after its first failure ("failed", with "what"), 200 again when the next one begins.
///
/// /metrics, all by rank except the first four; values that a rank has not reported yet are left out:
///
/// | metric | what |
/// |---|---|
/// | lockstep_ranks | ranks of this host |
/// | lockstep_generation | current attempt, from 0 |
/// | lockstep_restarts_total | attempts before it |
/// | lockstep_failed | 1 after the attempt's first failure |
/// | lockstep_step, lockstep_steps | updates done, and in the whole training run |
/// | lockstep_step_seconds | duration of the last step |
/// | lockstep_step_seconds_total | of all steps of this attempt |
/// | lockstep_exposed_communication_seconds_total | of that, waiting for other ranks |
/// | lockstep_step_age_seconds | since the last step ended |
/// | lockstep_peak_memory_bytes | of the device, or of the process if it is the CPU |
/// | lockstep_loss | of the last step |
/// | lockstep_collectives_total | entered, in the group of all ranks |
/// | lockstep_last_collective_info | 1; labels: collective, sequence, state (issued, running, done, failed), line |
/// | lockstep_last_collective_age_seconds | since it ended, or since the call if it has not |
///
/// Thread safety: any thread.
/// @source  https://prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
class HealthPage {
 public:
  /// An attempt begins. @param generation  From 0. @param first_rank  Of this host. @param ranks  Of this host.
  /// @param flight_folder  Where its ranks write.
  void start(int generation, int first_rank, int ranks, const std::filesystem::path& flight_folder);
  /// A rank of the attempt has failed. @param what  "rank 2 exited with code 3".
  void fail(const std::string& what);

  /// The page at that path, or 404.
  [[nodiscard]] HttpResponse answer(const std::string& path) const;

 private:
  struct Attempt {
    bool has_begun = false;
    int generation = 0;
    int first_rank = 0;
    int ranks = 0;
    std::filesystem::path folder;
    std::string failure;  // empty: none
  };
  [[nodiscard]] Attempt attempt() const;
  [[nodiscard]] static HttpResponse health_of(const Attempt& attempt);
  [[nodiscard]] static HttpResponse metrics_of(const Attempt& attempt);

  mutable std::mutex mutex_;
  Attempt attempt_;
};

}  // namespace lockstep::launch
