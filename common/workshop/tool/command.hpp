#pragma once
/// @file
/// The commands of the `lockstep` tool: one function per command, each in a file of its name.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tool {

using Arguments = std::vector<std::string>;

/// One word after `lockstep`.
struct Command {
  std::string_view name;
  std::string_view group;                  ///< Heading in the list of commands.
  std::string_view usage;                  ///< Arguments after the name.
  std::string_view summary;                ///< One line.
  int (*run)(const Arguments& arguments);  ///< Receives the arguments after the name; returns the exit code; may throw.
};

/// All commands, in the order of the list.
[[nodiscard]] std::span<const Command> commands();

int bench(const Arguments& arguments);
int config(const Arguments& arguments);
int data(const Arguments& arguments);
int diff(const Arguments& arguments);
int doctor(const Arguments& arguments);
int emulate(const Arguments& arguments);
int estimate(const Arguments& arguments);
int evaluate(const Arguments& arguments);
int generate(const Arguments& arguments);
int launch_command(const Arguments& arguments);
int run_chapter(const Arguments& arguments);
int test(const Arguments& arguments);
int trace(const Arguments& arguments);
int train(const Arguments& arguments);

}  // namespace lockstep::tool
