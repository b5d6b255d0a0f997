#pragma once
/// @file
/// One host's share of a job that runs on several hosts or restarts after a failure.
#include <optional>
#include <string>
#include <vector>

#include "launch/local/signal_scope.hpp"
#include "launch/rank_environment.hpp"

namespace lockstep::launch {

/// The rank that failed first.
struct RankFailure {
  int rank = -1;                        ///< In [0, world size of the job).
  std::string what;                     ///< "was killed by SIGSEGV (Segmentation fault)", "exited with code 3".
  std::vector<std::string> last_lines;  ///< Its last output lines, oldest first; at most OutputMerger::kKeptLines.
};

/// Why the ranks of a host must end though none of them has failed.
struct EndRequest {
  enum class Manner {
    kFailure,  ///< They get time to notice the failure themselves, then SIGTERM.
    kOrderly,  ///< SIGTERM at once: the others continue without them, or restart with more hosts.
  };
  Manner manner = Manner::kFailure;
  std::string reason;  ///< "rank 3 on host b (node rank 1) exited with code 1".
};

/// The other hosts of a job while this host's ranks run. Called by one thread.
class JobPeers {
 public:
  virtual ~JobPeers() = default;
  /// Readable when end_request() or notice() may return a value.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// Why the ranks must end; at most once.
  [[nodiscard]] virtual std::optional<EndRequest> end_request() = 0;
  /// A message for people from the other hosts. Never blocks.
  [[nodiscard]] virtual std::optional<std::string> notice() = 0;
  /// Tells the others that a rank of this host has failed. @param exit_code  Resulting exit code of the job.
  virtual void report_failure(const RankFailure& failure, int exit_code) = 0;
  /// Tells the others that this host received a signal to end.
  virtual void report_signal(int signal) = 0;
};

/// A host's place in one generation of a job.
struct HostShare {
  int generation = 0;              ///< Number of earlier starts of the job's ranks.
  int first_rank = 0;              ///< First of this host's ranks, which are consecutive.
  Variables variables;             ///< Through which the job's ranks find each other.
  JobPeers* peers = nullptr;       ///< Not null.
  SignalScope* signals = nullptr;  ///< Of this process; not null.
};

}  // namespace lockstep::launch
