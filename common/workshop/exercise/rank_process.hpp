#pragma once
/// @file
/// One rank of a judged program, from the judge's side.
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::exercise {

/// How a process ended.
struct EndOfProcess {
  int signal = 0;     ///< 0: it exited.
  int exit_code = 0;  ///< If it exited.
};

/// A running process. The destructor kills it and all processes that it started.
class RankProcess {
 public:
  /// @param command  Path and arguments.
  /// @param variables  NAME=value; besides these it gets only PATH and the variables of sanitizers and the loader.
  /// @param passed  Descriptors to keep open; all others are closed. @throws IoError  It cannot be started.
  RankProcess(std::vector<std::string> command, const std::vector<std::string>& variables,
              const std::vector<PassedDescriptor>& passed);
  RankProcess(RankProcess&& other) noexcept;  ///< Takes over the process.
  RankProcess& operator=(RankProcess&&) = delete;
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess();

  /// True once it has ended; end() then says how.
  [[nodiscard]] bool has_ended();
  /// @pre  has_ended() was true.
  [[nodiscard]] EndOfProcess end() const noexcept { return end_; }

  /// Kills its process group and reaps it.
  void kill() noexcept;
  /// Sends a signal to the process that runs the code: with a sandbox, the innermost one.
  void signal_innermost(int signal) const noexcept;

  /// Processor time of it and all processes that it started, in milliseconds; 0 if it has ended.
  [[nodiscard]] std::int64_t processor_milliseconds() const;
  /// How long they were ready to run without a processor, in milliseconds: the cost of a busy machine. 0 if the kernel
  /// does not count it.
  [[nodiscard]] std::int64_t waiting_milliseconds() const;
  /// True if one of its threads is running or ready to run.
  [[nodiscard]] bool is_runnable() const;

  /// Reads new output without waiting, a megabyte at most: a program may print faster than it is read. If there is very
  /// much, keeps only the last part.
  void read_output();
  /// The bytes read so far, also those no longer kept.
  [[nodiscard]] std::uint64_t printed_bytes() const noexcept { return printed_bytes_; }
  /// Readable when there is new output; -1 after its end.
  [[nodiscard]] int output_fd() const noexcept { return output_pipe_.is_open() ? output_pipe_.get() : -1; }
  /// Standard output and standard error together, without a sandbox's mark.
  [[nodiscard]] const std::string& output() const noexcept { return output_; }
  /// kSandboxMark if the output began with it; otherwise empty.
  [[nodiscard]] const std::string& first_output() const noexcept { return first_output_; }

 private:
  void take_mark();

  pid_t pid_ = -1;
  bool has_ended_ = false;
  EndOfProcess end_;
  UniqueFd output_pipe_;
  std::string output_;
  std::string first_output_;
  std::uint64_t printed_bytes_ = 0;
  bool has_printed_ = false;  // at least as many characters as a mark
};

/// Runs a short program to its end and returns its standard output; empty if it cannot be run.
[[nodiscard]] std::string output_of(const std::vector<std::string>& command);

}  // namespace lockstep::exercise
