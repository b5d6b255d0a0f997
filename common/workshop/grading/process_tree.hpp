#pragma once
/// @file
/// Programs that are run on behalf of a submission: with a limit on time and memory, and nothing left of them.
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lockstep::grading {

/// What a program may use, with everything that it starts.
struct Allowance {
  std::chrono::seconds wall_time{600};                  ///< Then all of it is ended.
  std::uint64_t memory_bytes = std::uint64_t{3} << 30;  ///< Of all its processes together, with files in memory.
  bool has_group = true;                                ///< Memory is counted by a control group, if one can be made.
  std::size_t output_bytes = std::size_t{32} << 20;     ///< Of its standard output; what is more is lost.
};

/// How it ended.
struct Ended {
  int exit_code = 0;              ///< 128 + signal where one ended it.
  std::string output;             ///< Standard output.
  std::string errors;             ///< Standard error, its beginning.
  bool is_out_of_time = false;    ///< The allowance's time was used up.
  bool is_out_of_memory = false;  ///< A process was ended because all together were too large.
};

/// From now on every process that loses its parent becomes a child of this one, so that end_descendants() finds it.
/// @throws IoError  The system refused.
void adopt_orphans();

/// Ends all processes below this one, also those that are started meanwhile. @pre adopt_orphans().
void end_descendants() noexcept;

/// Ends this process's children but those, with all below them. @pre adopt_orphans().
void end_other_children(const std::set<pid_t>& kept) noexcept;

/// Runs a program with an environment of its own. Afterwards nothing that it has started is left. Memory is limited by
/// a control group if one can be made; if not, it is added up, and the largest process below the program is ended.
/// @param command      Its first word is looked up in PATH. @param variables  NAME=value: all that it gets.
/// @param input        Its standard input: at most a few KiB.
/// @pre adopt_orphans(). @throws IoError  It cannot be started.
[[nodiscard]] Ended run_watched(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                                const std::filesystem::path& folder, const Allowance& allowance,
                                const std::string& input = "");

}  // namespace lockstep::grading
