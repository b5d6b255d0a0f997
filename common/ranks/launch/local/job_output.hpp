#pragma once
/// @file
/// Forwards the output of a job's ranks to this process's output.
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

/// Reads and merges the ranks' output, and writes it to standard output and standard error without ever waiting for
/// their readers. Single-threaded.
class JobOutput {
 public:
  /// @param style  kFirstLive counts as kFirstPlain if standard output is not a terminal, or one without controls.
  /// @param first_rank  The job's rank of the first of these ranks, for prefixes; all calls count from 0.
  JobOutput(int world_size, OutputStyle style, int first_rank = 0);
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  /// From now on, `log` gets the ranks' output and decides which streams are shown. It must outlive this object.
  void record_to(JobLog& log);

  /// Variables that tell ranks where their output goes: they themselves write to pipes.
  [[nodiscard]] Variables variables() const;

  /// Takes the ranks' output, at most a pipe's capacity per stream. If nobody reads this process's stream, the ranks
  /// have to wait with theirs.
  void take(ReaperProcess& ranks);
  /// Takes the remaining output of a rank that has ended.
  void take_rest(int rank, ReaperProcess& ranks);
  /// No rank will write again.
  void close();

  /// Writes a line of the launcher to standard error, between lines of the ranks.
  void announce(const std::string& line) { merger_.announce(line); }
  /// The last lines of both streams of a rank, oldest first.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return merger_.last_lines(rank); }

  /// Writes as much as possible without waiting.
  void flush() { queue_.flush(); }
  /// Adds the descriptors that poll() should watch for take() and flush().
  void watch(std::vector<pollfd>& watched, ReaperProcess& ranks);
  /// A write error, for people; each stream only once. The job goes on.
  [[nodiscard]] std::optional<std::string> take_problem() { return queue_.take_problem(); }
  /// Whether the reader of standard output has gone (`| head`).
  [[nodiscard]] bool is_lost() const noexcept { return queue_.is_lost(OutputStream::kOut); }

  /// Writes all queued output; stops at the deadline or when `interrupt` becomes readable.
  /// @return  Whether it was interrupted.
  bool drain(const Deadline& deadline, int interrupt);

 private:
  [[nodiscard]] bool is_full() const noexcept;
  void take_ready(ReaperProcess& ranks);
  void take_stream(int rank, OutputStream stream, UniqueFd& fd);
  void watch_queue(std::vector<pollfd>& watched) const;

  int world_size_;
  OutputStyle style_;
  bool is_for_people_;  // who asked for kFirstLive: ranks may draw on the terminal
  OutputQueue queue_;
  OutputMerger merger_;
  JobLog* log_ = nullptr;  // null: none
  net::ReadySet ready_;    // all streams, indexed in the order of ranks; used while nothing is full
  bool has_ready_ = false;
};

}  // namespace lockstep::launch
