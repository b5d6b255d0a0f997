#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "launch/grace.hpp"
#include "launch/launcher.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

constexpr const char* kTrainProgram = "train_gpt_ddp";

// Removes `--nproc N` or `--nproc=N` from the arguments and returns N, the last one; the rest is for the program.
std::optional<std::string> take_option(Arguments& arguments, const std::string& name) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < arguments.size();) {
    const bool is_joined = arguments[i].rfind(name + "=", 0) == 0;
    if (!is_joined && arguments[i] != name) {
      ++i;
      continue;
    }
    if (!is_joined && i + 1 == arguments.size()) throw UsageError(name + " needs a value");
    value = is_joined ? arguments[i].substr(name.size() + 1) : arguments[i + 1];
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(first, first + (is_joined ? 1 : 2));
  }
  return value;
}

std::chrono::milliseconds grace_from(const std::optional<std::string>& text) {
  if (!text) return launch::default_grace();
  if (const auto grace = launch::parse_grace(*text)) return *grace;
  throw UsageError(
      concat("--grace ", *text, ": must be seconds from 0 to ", launch::kLongestGrace.count(), ", for example 30"));
}

[[noreturn]] void become_program(const std::string& name, const Arguments& arguments,
                                 const ProgramVariables& variables = {}) {
  std::vector<std::string> command = {find_program(find_project(), name).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  become(command, variables);
}

bool asks_for_help(const Arguments& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace

int train(const Arguments& arguments) {
  launch::JobOptions job;
  Arguments program_arguments = arguments;
  const std::string rank_count = take_option(program_arguments, "--nproc").value_or("auto");
  job.grace = grace_from(take_option(program_arguments, "--grace"));
  job.command = {find_program(find_project(), kTrainProgram).string()};
  job.command.insert(job.command.end(), program_arguments.begin(), program_arguments.end());
  if (asks_for_help(arguments)) {
    std::cout << "Trains a GPT with data parallelism: " << kTrainProgram << " as several ranks on this machine.\n\n"
              << "  --nproc N|auto              Number of ranks; auto, here " << suitable_rank_count()
              << ", suits the machine\n"
              << "  --grace SECONDS             From SIGTERM to SIGKILL when the training is stopped, here "
              << format_seconds(launch::default_grace()) << ": time\n"
              << "                              for a checkpoint, at most what the scheduler allows\n"
              << "\nand all options of " << kTrainProgram << ":\n\n"
              << std::flush;
    become(job.command);
  }
  job.world_size = parse_rank_count(rank_count);
  // A trial run reports invalid options once, not once per rank.
  const ProgramVariables trial = {{"LOCKSTEP_CHECK_OPTIONS", "1"},
                                  {"LOCKSTEP_PROGRAM", "lockstep train"},
                                  {"RANK", "0"},
                                  {"WORLD_SIZE", std::to_string(job.world_size)}};
  if (const int wrong = run_and_wait(job.command, trial)) return wrong;
  job.style = launch::OutputStyle::kFirstLive;
  return launch::run_job(job).exit_code;
}

int generate(const Arguments& arguments) { become_program("generate", arguments); }

int evaluate(const Arguments& arguments) { become_program("evaluate", arguments); }

int estimate(const Arguments& arguments) {
  become_program("estimate_memory", arguments, {{"LOCKSTEP_PROGRAM", "lockstep estimate"}});
}

}  // namespace lockstep::tool
