#include <algorithm>
#include <iostream>

#include "base/error.hpp"
#include "launch/launcher.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

constexpr const char* kProgram = "train_gpt_ddp";

// Takes `--nproc N` or `--nproc=N` out of the arguments; the others are the program's.
std::string take_rank_count(Arguments& arguments) {
  std::string count = "auto";
  for (std::size_t i = 0; i < arguments.size();) {
    const bool is_joined = arguments[i].rfind("--nproc=", 0) == 0;
    if (!is_joined && arguments[i] != "--nproc") {
      ++i;
      continue;
    }
    if (!is_joined && i + 1 == arguments.size()) throw UsageError("--nproc needs a number of ranks, or auto");
    count = is_joined ? arguments[i].substr(8) : arguments[i + 1];
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(first, first + (is_joined ? 1 : 2));
  }
  return count;
}

bool asks_for_help(const Arguments& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace

int train(const Arguments& arguments) {
  launch::JobOptions job;
  Arguments program_arguments = arguments;
  const std::string rank_count = take_rank_count(program_arguments);
  job.command = {find_program(find_project(), kProgram).string()};
  job.command.insert(job.command.end(), program_arguments.begin(), program_arguments.end());
  if (asks_for_help(arguments)) {
    std::cout << "Trains a GPT with data parallelism: " << kProgram << " as several ranks on this machine.\n\n"
              << "  --nproc N|auto              Ranks; auto, here " << suitable_rank_count()
              << ", is what suits the machine\n\nand all options of " << kProgram << ":\n\n"
              << std::flush;
    become(job.command);
  }
  job.world_size = parse_rank_count(rank_count);
  // One trial run says what is wrong with the options once, not once per rank.
  const ProgramVariables trial = {{"LOCKSTEP_CHECK_OPTIONS", "1"},
                                  {"LOCKSTEP_PROGRAM", "lockstep train"},
                                  {"RANK", "0"},
                                  {"WORLD_SIZE", std::to_string(job.world_size)}};
  if (const int wrong = run_and_wait(job.command, trial)) return wrong;
  job.style = launch::OutputStyle::kFirstLive;
  return launch::run_job(job).exit_code;
}

int generate(const Arguments& arguments) {
  std::vector<std::string> command = {find_program(find_project(), "generate").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  become(command);
}

}  // namespace lockstep::tool
