#pragma once
/// @file
/// One rank of a judged program, seen from the judge.
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
  int exit_code = 0;  ///< Of an exit.
};

/// A running process. Destroying it kills it and what it has started.
class RankProcess {
 public:
  /// @param command    Path and arguments.
  /// @param variables  NAME=value; beside them it gets only PATH and what sanitizers and the loader read.
  /// @param passed     Descriptors; all others are closed. @throws IoError  It cannot be started.
  RankProcess(std::vector<std::string> command, const std::vector<std::string>& variables,
              const std::vector<PassedDescriptor>& passed);
  RankProcess(RankProcess&& other) noexcept;  ///< Takes the process over.
  RankProcess& operator=(RankProcess&&) = delete;
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess();

  /// Whether it has ended; says how once it has.
  [[nodiscard]] bool has_ended();
  /// @pre  has_ended() was true.
  [[nodiscard]] EndOfProcess end() const noexcept { return end_; }

  /// Kills it, with its process group, and collects it.
  void kill() noexcept;
  /// Sends a signal to the process that runs the code: where it is wrapped in a sandbox, the innermost one.
  void signal_innermost(int signal) const noexcept;

  /// Processor time of it and of what it has started, in milliseconds; 0 where it has ended.
  [[nodiscard]] std::int64_t processor_milliseconds() const;
  /// How long they could have computed and had no processor, in milliseconds: what a busy machine costs them. 0 where
  /// the kernel does not count it.
  [[nodiscard]] std::int64_t waiting_milliseconds() const;
  /// Whether a thread of it is running or ready to run.
  [[nodiscard]] bool is_runnable() const;

  /// Reads what it has printed since, without waiting. Keeps the last part of very much.
  void read_output();
  /// Standard output and standard error together, without a sandbox's mark.
  [[nodiscard]] const std::string& output() const noexcept { return output_; }
  /// kSandboxMark, where the output began with it; else empty.
  [[nodiscard]] const std::string& first_output() const noexcept { return first_output_; }

 private:
  void take_mark();

  pid_t pid_ = -1;
  bool has_ended_ = false;
  EndOfProcess end_;
  UniqueFd output_pipe_;
  std::string output_;
  std::string first_output_;
  bool has_printed_ = false;  // as much as a mark has characters
};

/// Runs a program to its end and returns its standard output; empty where it cannot be run. For programs that are
/// quick.
[[nodiscard]] std::string output_of(const std::vector<std::string>& command);

}  // namespace lockstep::exercise
