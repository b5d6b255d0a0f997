#pragma once
/// @file
/// The launcher's side of the reaper (see reaper_protocol.hpp).
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "launch/local/output_merger.hpp"
#include "launch/local/reaper_protocol.hpp"
#include "launch/local/signal_queue.hpp"

namespace lockstep::launch {

/// A running reaper and, below it, the ranks of this host. Destroying it ends all of them.
/// Thread safety: one thread at a time.
class ReaperProcess {
 public:
  /// Starts `world_size` ranks of `command`. Their environment is `environment` ("NAME=value") plus RANK, ROLE_RANK and
  /// LOCAL_RANK. All calls below count ranks from 0 on this host.
  /// @param first_rank  RANK of the first of them: more than 0 if other hosts run ranks too.
  /// @throws IoError  The reaper's program, a process or a pipe is not available.
  ReaperProcess(const std::vector<std::string>& command, int world_size, const std::vector<std::string>& environment,
                const InheritedSignals& signals, int first_rank = 0);
  ReaperProcess(const ReaperProcess&) = delete;
  ReaperProcess& operator=(const ReaperProcess&) = delete;
  /// Kills everything and waits briefly. The reaper kills processes that are stuck in the kernel when they become
  /// killable, even if this process has ended.
  ~ReaperProcess();

  /// Of the outermost reaper process, an ancestor of all processes of the job.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Readable when receive() has an event.
  [[nodiscard]] int control_fd() const noexcept { return control_.get(); }

  /// Read end of a rank's stream, non-blocking.
  [[nodiscard]] UniqueFd& output(int rank, OutputStream stream);

  /// The next event, if there is one. Never blocks.
  [[nodiscard]] std::optional<ReaperEvent> receive();

  /// True once receive() has seen the end of the connection: the reaper's processes have ended.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  /// SIGTERM to all ranks; repeated calls have no effect.
  void terminate() noexcept;

  /// SIGKILL to every process of the job. Returns at once; has_ended() is true when it is done.
  void kill() noexcept;

  /// Makes the destructor not wait.
  void abandon() noexcept { end_limit_ = std::chrono::milliseconds(0); }

 private:
  struct Pipe {
    UniqueFd read;
    UniqueFd write;
  };

  void spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const InheritedSignals& signals, int first_rank, int reaper_control, const std::vector<Pipe>& pipes);
  void resume() const noexcept;

  int world_size_;
  UniqueFd control_;
  std::vector<UniqueFd> outputs_;  // 2 * rank + stream
  pid_t pid_ = -1;
  bool has_ended_ = false;
  std::chrono::milliseconds end_limit_{5000};
};

/// The program `lockstep_reaper`: next to the running program, in the build folder's bin/, or where it was built.
/// @throws IoError  Not found; says how to build it.
[[nodiscard]] std::filesystem::path find_reaper();

}  // namespace lockstep::launch
