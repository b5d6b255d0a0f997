#pragma once
/// @file
/// A launcher's records of a job over all its attempts: events, the output of ranks, a health page.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/local/rank_logs.hpp"
#include "launch/watching/event_log.hpp"
#include "launch/watching/health_page.hpp"

namespace lockstep::launch {

/// Callbacks for a job's events, in call order. Without files it does nothing. Ranks are the job's unless they are
/// called local. Thread safety: one thread at a time.
///
/// | event | fields beside `time`, `event` and `generation` |
/// |---|---|
/// | start | command, first_rank, ranks (of this host), flight_dir |
/// | rank_started | rank, pid |
/// | rank_ended | rank, code; signal if one ended it |
/// | failure | rank, what: the first one of an attempt, and again if an earlier one becomes known |
/// | signal | signal, to (launcher, reaper) |
/// | preempted | rank: the first one that has saved and asks to be restarted |
/// | restart | generation (the new one), reason |
/// | end | code: the launcher's, for this attempt |
class JobLog {
 public:
  /// Records nothing.
  JobLog() = default;
  /// @param events  File for events; empty: none. @param logs  Empty: no files of output.
  /// @throws IoError  The event file cannot be created.
  JobLog(const std::filesystem::path& events, std::optional<LogOptions> logs);
  /// From now on, shows attempts and failures on `page`. @param page  Not null.
  void show_on(std::shared_ptr<HealthPage> page) { page_ = std::move(page); }

  /// An attempt begins on this host.
  /// @param generation  From 0. @param first_rank  Rank of local rank 0. @param ranks  On this host.
  /// @param flight_folder  Where the ranks' flight recorders write.
  /// @throws IoError  Folders or files for its output cannot be made.
  void start(int generation, const std::vector<std::string>& command, int first_rank, int ranks,
             const std::filesystem::path& flight_folder);
  /// @param local_rank  Has this process id.
  void rank_started(int local_rank, int pid);
  /// @param status  As from waitpid().
  void rank_ended(int local_rank, int status);
  /// @param local_rank  Failed first. @param what  "exited with code 3".
  void failure(int local_rank, const std::string& what);
  /// @param receiver  "launcher", "reaper".
  void signal(int number, std::string_view receiver);
  /// @param local_rank  Has ended with kRequeueExitCode (base/preemption.hpp).
  void preempted(int local_rank);
  /// The job restarts. @param generation  The new one. @param reason  For people.
  void restart(int generation, const std::string& reason);
  /// The attempt has ended on this host.
  void end(int exit_code);

  /// Takes output of a rank.
  void take_output(int local_rank, OutputStream stream, std::string_view bytes) noexcept;
  /// Whether a stream is shown, not only written to its file.
  [[nodiscard]] bool is_shown(int local_rank, OutputStream stream) const noexcept;

 private:
  void write(std::string_view event, const nlohmann::ordered_json& fields);

  std::optional<EventLog> events_;
  std::optional<RankLogs> logs_;
  std::shared_ptr<HealthPage> page_;  // null: none
  int generation_ = 0;
  int first_rank_ = 0;
};

}  // namespace lockstep::launch
