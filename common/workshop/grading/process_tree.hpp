#pragma once
/// @file
/// Runs programs for a submission with limits on time and memory, and leaves none of their processes behind.
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lockstep::grading {

/// Limits for a program and all processes that it starts.
struct Allowance {
  std::chrono::seconds wall_time{600};                  ///< After this, all of them are killed.
  std::uint64_t memory_bytes = std::uint64_t{3} << 30;  ///< Of all its processes together, including files in memory.
  bool has_group = true;                                ///< Use a control group to count memory, if one can be made.
  std::size_t output_bytes = std::size_t{32} << 20;     ///< Of its standard output; the rest is discarded.
};

/// The end of a program.
struct Ended {
  int exit_code = 0;  ///< 128 + signal if a signal ended it.
  std::string output;
  std::string errors;  ///< Standard error, its beginning.
  bool is_out_of_time = false;
  bool is_out_of_memory = false;  ///< A process was killed because all together were too large.
};

/// Makes every process that loses its parent a child of this one from now on, so that end_descendants() finds it.
/// @throws IoError  The system refused.
void adopt_orphans();

/// Kills all processes below this one, including those started meanwhile. @pre adopt_orphans().
void end_descendants() noexcept;

/// Kills this process's children except `kept`, with all their descendants. @pre adopt_orphans().
void end_other_children(const std::set<pid_t>& kept) noexcept;

/// Runs a program with a fresh environment and leaves none of its processes behind. A control group limits memory if
/// one can be made; otherwise the sizes are added up, and the largest process below the program is killed.
/// @param command  Its first word is looked up in PATH. @param variables  NAME=value: the whole environment.
/// @param input  Its standard input: at most a few KiB.
/// @pre adopt_orphans(). @throws IoError  It cannot be started.
[[nodiscard]] Ended run_watched(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                                const std::filesystem::path& folder, const Allowance& allowance,
                                const std::string& input = "");

}  // namespace lockstep::grading
