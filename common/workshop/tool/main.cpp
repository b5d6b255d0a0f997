// lockstep: the command line of the course. Starts chapter programs as separate processes; does not link them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "base/terminal.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

// The site needs no compiled code: the script builds it.
int docs(const Arguments& arguments) {
  std::vector<std::string> command = {(find_project().root / "lockstep").string(), "docs"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  become(command);
}

constexpr std::array kCommands = {
    Command{"train", "run", "[options]", "train a GPT on as many ranks as suit this machine", train},
    Command{"run", "run", "NN [program] [--nproc N] [-- args]", "run a program of chapter NN", run_chapter},
    Command{"launch", "run", "--nproc N -- program args", "run a program as N ranks, with torchrun's variables",
            launch_command},
    Command{"config", "run", "[--default] [--config FILE]", "ask a few questions, and write the file that launch reads",
            config},
    Command{"generate", "run", "[options]", "write text with a trained model, or with GPT-2", generate},
    Command{"evaluate", "run", "[options]", "say how well a model predicts a text: its perplexity", evaluate},
    Command{"emulate", "run", "[--check] my_kernel.cu [-- args]", "run a CUDA program without a GPU, and find its bugs",
            emulate},
    Command{"diff", "learn", "NN [program]", "show chapter NN's distributed program beside its single-device baseline",
            diff},
    Command{"test", "know", "[module] [-- ctest options]", "run the tests", test},
    Command{"bench", "know", "train|all_reduce|kernels", "measure Lockstep beside other libraries on this machine",
            bench},
    Command{"trace", "know", "--live|--last-failure",
            "show where the ranks of a running job are, or of one that failed", trace},
    Command{"data", "know", "tinyshakespeare|tokenizer|tokens", "fetch a text, learn a tokenizer, write tokens", data},
    Command{"docs", "know", "[--serve [--port N]]", "build the site of the course; show it on this machine", docs},
    Command{"estimate", "know", "MODEL [options]", "say how much memory training a model needs, by strategy", estimate},
    Command{"doctor", "know", "[--test]", "a report on this machine to paste; --test says whether it can train",
            doctor},
};

// Handled by a separate program, which also explains them.
constexpr std::array kExerciseWords = {"start", "check", "watch",         "why",  "hint",   "compare", "progress",
                                       "case",  "reset", "use-reference", "next", "author", "predict"};

const std::string kExercises = "lockstep_exercises";  // that program

// Handled by the program for submitting and grading.
constexpr std::array kGradingWords = {"submit", "grade"};

constexpr std::size_t kHelpColumn = 44;  // where the summaries begin

constexpr std::string_view kRelease = "release";  // handled by a third program

void print_what_next() {
  constexpr std::size_t kSummaryColumn = 21;
  std::cout << wrap_for(STDOUT_FILENO, "Lockstep: multi-GPU training from a TCP socket to a GPT. What next?\n\n")
            << wrap_for(STDOUT_FILENO,
                        "  ./lockstep train   train a GPT on several ranks, and see text that it writes\n"
                        "  ./lockstep next    the exercises: where you are, and what is next\n"
                        "  ./lockstep run 01  chapter 01: the first all-reduce; README.md lists the rest\n"
                        "  ./lockstep test    run all tests\n"
                        "  ./lockstep --help  list all commands\n",
                        kSummaryColumn);
}

void print_help() {
  std::cout << "Usage: " << tool_as_typed() << " COMMAND ...   (COMMAND --help says more)\n";
  std::string_view group;
  for (const Command& command : kCommands) {
    if (command.group != group) std::cout << "\n" << command.group << ":\n";
    group = command.group;
    const std::string words = concat(command.name, command.usage.empty() ? "" : " ", command.usage);
    const std::string padding(kHelpColumn - 2 - std::min(kHelpColumn - 2, words.size()), ' ');
    std::cout << wrap_for(STDOUT_FILENO, concat("  ", words, padding, command.summary, "\n"), kHelpColumn);
  }
  std::cout << "\nexercises:\n"
            << wrap_for(
                   STDOUT_FILENO,
                   "  start 02.1, check, watch, why, hint       begin one, try your code, learn what is wrong\n"
                   "  compare, progress, reset, use-reference   ours beside yours, all exercises, begin anew, go on\n"
                   "  case 06.A                                 find out what is wrong with a program\n"
                   "  predict 02                                say what a chapter's programs will print, then see\n"
                   "  submit, grade                             one zip for your instructor; grade a class\n"
                   "  release                                   the repository that students get, without answers\n",
                   kHelpColumn);
}

[[noreturn]] void hand_over(const std::string& program, const Arguments& arguments) {
  std::vector<std::string> command = {find_program(find_project(), program).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  become(command);
}

/// The exercises' own program, if it is built, says where the learner is.
int show_what_next() {
  if (!has_project()) {
    print_help();
    return 0;
  }
  print_what_next();
  const Project project = find_project();
  if (!std::filesystem::exists(project.programs / kExercises)) return 0;
  std::cout << "\n" << std::flush;
  hand_over(kExercises, {"next"});
}

int dispatch(const Arguments& words) {
  if (words.empty()) return show_what_next();
  if (words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
    print_help();
    return 0;
  }
  const auto is_one_of = [&](const auto& list) { return std::ranges::find(list, words.front()) != list.end(); };
  if (is_one_of(kExerciseWords)) hand_over(kExercises, words);
  if (is_one_of(kGradingWords)) hand_over("lockstep_grade", words);
  if (words.front() == kRelease) hand_over("lockstep_make_release", {words.begin() + 1, words.end()});
  const auto chosen = std::find_if(kCommands.begin(), kCommands.end(),
                                   [&](const Command& command) { return command.name == words.front(); });
  if (chosen == kCommands.end()) {
    std::vector<std::string> names;
    for (const Command& command : kCommands) names.emplace_back(command.name);
    throw UsageError(concat("unknown command ", words.front(), did_you_mean(words.front(), names), "  (",
                            tool_as_typed(), " --help lists all)"));
  }
  return run_guarded(concat("lockstep ", chosen->name),
                     [&] { return chosen->run(Arguments(words.begin() + 1, words.end())); });
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace lockstep::tool

int main(int argc, char** argv) {
  const lockstep::tool::Arguments words(argv + 1, argv + argc);
  return lockstep::run_guarded("lockstep", [&] { return lockstep::tool::dispatch(words); });
}
