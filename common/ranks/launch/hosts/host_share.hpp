#pragma once
/// @file
/// What one host runs of a job that several hosts run together, or that starts again after a failure.
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
  std::vector<std::string> last_lines;  ///< Of its output, oldest first; at most OutputMerger::kKeptLines.
};

/// Why the ranks of a host must end though none of them has failed.
struct EndRequest {
  /// How they end.
  enum class Manner {
    kFailure,  ///< They get time to notice by themselves, then SIGTERM.
    kOrderly,  ///< SIGTERM at once: the others go on without them, or start again with more.
  };
  Manner manner = Manner::kFailure;  ///< How.
  std::string reason;                ///< "rank 3 on host b (node rank 1) exited with code 1".
};

/// The rest of a job, as the host sees it while its ranks run. Called by one thread.
class JobPeers {
 public:
  virtual ~JobPeers() = default;
  /// Readable when end_request() or notice() may have something to tell.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// Why the ranks must end; at most once.
  [[nodiscard]] virtual std::optional<EndRequest> end_request() = 0;
  /// A line for people that came from the others. Never waits.
  [[nodiscard]] virtual std::optional<std::string> notice() = 0;
  /// Tells the others that a rank of this host has failed. @param exit_code  What it means for the job's own.
  virtual void report_failure(const RankFailure& failure, int exit_code) = 0;
  /// Tells the others that somebody has asked this host to end.
  virtual void report_signal(int signal) = 0;
};

/// A host's place in one generation of a job.
struct HostShare {
  int generation = 0;              ///< How often the job's ranks have been started before.
  int first_rank = 0;              ///< Of this host's ranks, which are numbered without gaps.
  Variables variables;             ///< How the job's ranks find each other.
  JobPeers* peers = nullptr;       ///< Not null.
  SignalScope* signals = nullptr;  ///< Of this process; not null.
};

}  // namespace lockstep::launch
