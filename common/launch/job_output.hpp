#pragma once
/// @file
/// The output of a job's ranks on its way to this process's own.
#include <poll.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "launch/output_merger.hpp"
#include "launch/output_queue.hpp"
#include "launch/rank_environment.hpp"

namespace lockstep::launch {

/// Reads what ranks write, merges it, and writes it to standard output and standard error without ever waiting for
/// their readers. Single-threaded.
class JobOutput {
 public:
  /// @param style  kFirstLive counts as kFirstPlain where standard output is no terminal.
  JobOutput(int world_size, OutputStyle style);
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  /// What ranks should know of where their output goes: they themselves write to pipes.
  [[nodiscard]] Variables variables() const;

  /// Takes what is there of a rank's stream, not more than a pipe holds; closes `fd` at its end.
  void take(int rank, OutputStream stream, UniqueFd& fd);
  /// The rank will write no more to this stream.
  void close(int rank, OutputStream stream) { merger_.close(rank, stream); }
  /// Whether the ranks should wait with this stream, because nobody reads it.
  [[nodiscard]] bool is_full(OutputStream stream) const noexcept { return queue_.is_full(stream); }

  /// Writes a line of the launcher's own to standard error, between the lines of the ranks.
  void announce(const std::string& line) { merger_.announce(line); }
  /// The last lines of both streams of a rank, oldest first.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return merger_.last_lines(rank); }

  /// Writes what can be written without waiting.
  void flush() { queue_.flush(); }
  /// Adds what poll() should watch so that flush() can go on.
  void watch(std::vector<pollfd>& watched) const;
  /// Whether the reader of standard output has gone (`| head`).
  [[nodiscard]] bool is_lost() const noexcept { return queue_.is_lost(OutputStream::kOut); }

  /// Writes all that waits, or ends at the deadline or when `interrupt` becomes readable.
  /// @return  Whether it was interrupted.
  bool drain(const Deadline& deadline, int interrupt);

 private:
  OutputStyle style_;
  OutputQueue queue_;
  OutputMerger merger_;
};

}  // namespace lockstep::launch
