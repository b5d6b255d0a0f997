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
  /// @param first_rank  RANK of the first of them: more than 0 where other hosts run ranks as well.
  /// @throws IoError  The reaper's program, a process or a pipe is not to be had.
  ReaperProcess(const std::vector<std::string>& command, int world_size, const std::vector<std::string>& environment,
                const InheritedSignals& signals, int first_rank = 0);
  ReaperProcess(const ReaperProcess&) = delete;
  ReaperProcess& operator=(const ReaperProcess&) = delete;
  /// Has everything killed, and waits for that, but not for long: what the kernel does not let go of yet is killed by
  /// the reaper when it does, whether this process still runs or not.
  ~ReaperProcess();

  /// Of the outermost of the reaper's processes: all processes of the job are below it.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Readable when receive() has something to tell.
  [[nodiscard]] int control_fd() const noexcept { return control_.get(); }

  /// Reading end of a rank's stream, non-blocking.
  [[nodiscard]] UniqueFd& output(int rank, OutputStream stream);

  /// The next event, if one is there. Never blocks.
  [[nodiscard]] std::optional<ReaperEvent> receive();

  /// True once receive() has met the end of the connection: the reaper's processes have ended.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  /// SIGTERM to all ranks; without effect from the second time on.
  void terminate() noexcept;

  /// SIGKILL to every process of the job. Comes back at once; has_ended() tells when it is done.
  void kill() noexcept;

  /// Do not wait in the destructor.
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

/// The program `lockstep_reaper`: beside the running program, in the build folder's bin/, or where it was built.
/// @throws IoError  It is in none of these places; says how to build it.
[[nodiscard]] std::filesystem::path find_reaper();

}  // namespace lockstep::launch
