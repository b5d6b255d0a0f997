#pragma once
/// @file
/// The output of a job's ranks on its way to this process's own.
#include <poll.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "launch/local/output_merger.hpp"
#include "launch/local/output_queue.hpp"
#include "launch/local/reaper_process.hpp"
#include "launch/rank_environment.hpp"
#include "net/ready_set.hpp"

namespace lockstep::launch {

class JobLog;

/// Reads what ranks write, merges it, and writes it to standard output and standard error without ever waiting for
/// their readers. Single-threaded.
class JobOutput {
 public:
  /// @param style  kFirstLive counts as kFirstPlain where standard output is no terminal.
  /// @param first_rank  The job's rank of the first of these ranks, for prefixes; all calls count from 0.
  JobOutput(int world_size, OutputStyle style, int first_rank = 0);
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  /// From now on, `log` gets what ranks write, and only what it says is shown. It must outlive this object.
  void record_to(JobLog& log);

  /// What ranks should know of where their output goes: they themselves write to pipes.
  [[nodiscard]] Variables variables() const;

  /// Takes what the ranks have written, not more of a stream than a pipe holds. Where nobody reads this process's
  /// stream, the ranks have to wait with theirs.
  void take(ReaperProcess& ranks);
  /// Takes all that is left of a rank that has ended.
  void take_rest(int rank, ReaperProcess& ranks);
  /// No rank will write any more.
  void close();

  /// Writes a line of the launcher's own to standard error, between the lines of the ranks.
  void announce(const std::string& line) { merger_.announce(line); }
  /// The last lines of both streams of a rank, oldest first.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return merger_.last_lines(rank); }

  /// Writes what can be written without waiting.
  void flush() { queue_.flush(); }
  /// Adds what poll() should watch so that take() and flush() can go on.
  void watch(std::vector<pollfd>& watched, ReaperProcess& ranks);
  /// What could not be written, for people; each stream only once. The job goes on.
  [[nodiscard]] std::optional<std::string> take_problem() { return queue_.take_problem(); }
  /// Whether the reader of standard output has gone (`| head`).
  [[nodiscard]] bool is_lost() const noexcept { return queue_.is_lost(OutputStream::kOut); }

  /// Writes all that waits, or ends at the deadline or when `interrupt` becomes readable.
  /// @return  Whether it was interrupted.
  bool drain(const Deadline& deadline, int interrupt);

 private:
  [[nodiscard]] bool is_full() const noexcept;
  void take_ready(ReaperProcess& ranks);
  void take_stream(int rank, OutputStream stream, UniqueFd& fd);
  void watch_queue(std::vector<pollfd>& watched) const;

  int world_size_;
  OutputStyle style_;
  OutputQueue queue_;
  OutputMerger merger_;
  JobLog* log_ = nullptr;  // null: none
  net::ReadySet ready_;    // of all streams, by their place in the order of ranks; used while nothing is full
  bool has_ready_ = false;
};

}  // namespace lockstep::launch
