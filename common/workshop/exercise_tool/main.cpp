// The commands for exercises. `./lockstep` first builds this program and then runs it.
#include <algorithm>
#include <array>
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "exercise_tool/command.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::array kCommands = {
    Command{"start", "02.1", "copy an exercise's template to work/ and say what to do", start},
    Command{"check", "[02.1] [--full]", "try your files, and say what is wrong", check},
    Command{"watch", "[02.1]", "check whenever you save", watch},
    Command{"why", "[02.1]", "everything known about the last failure", why},
    Command{"hint", "[02.1]", "one more hint", hint},
    Command{"compare", "[02.1]", "yours beside ours, once yours passes", compare},
    Command{"progress", "", "all exercises, and which have passed", progress},
    Command{"reset", "02.1", "start over; your files are set aside", reset},
    Command{"use-reference", "02.1", "go on with our code", use_reference},
    Command{"run-mine", "06|09|10|11 [options of the trainer]",
            "train the GPT with your files (./lockstep run 06 --mine)", run_mine},
    Command{"author", "new|check|adopt|templates", "for authors of exercises", author},
    Command{"case", "[06.A] [--answer CAUSE --line N]", "find out what is wrong with a program", detective_case},
    Command{"predict", "02 [--answers FILE]", "say what a chapter's programs will print, then see", predict},
    Command{"targets", "case 06.A | predict 02 | run 06 --mine",
            "list the targets that ./lockstep builds before a command", targets},
    Command{"case-source", "06.A FILE", "for the build: write the source of a case's program", case_source},
    Command{"next", "", "where you are, and what is next", where_am_i},
};

// Commands that parse --help themselves, and `targets`, which receives other commands' arguments.
constexpr std::array<std::string_view, 5> kReadHelp = {"check", "watch", "case", "predict", "targets"};

// The command that a learner has typed, which errors name.
std::string typed_name(const Command& command, const Arguments& rest) {
  if (command.name == "targets" && !rest.empty()) return rest.front();
  return command.name == "run-mine" ? "run" : std::string(command.name);
}

int dispatch(const Arguments& words) {
  if (words.empty()) return where_am_i({});
  const auto chosen = std::ranges::find(kCommands, words.front(), &Command::name);
  if (chosen == kCommands.end()) {
    std::vector<std::string> names;
    for (const Command& command : kCommands) names.emplace_back(command.name);
    throw UsageError(concat("unknown command ", words.front(), did_you_mean(words.front(), names)));
  }
  const Arguments rest(words.begin() + 1, words.end());
  const bool asks_for_help = std::ranges::find(rest, "--help") != rest.end();
  if (asks_for_help && std::ranges::find(kReadHelp, chosen->name) == kReadHelp.end()) {
    std::cout << "Usage: ./lockstep " << chosen->name << " " << chosen->usage << "\n\n" << chosen->summary << "\n";
    return 0;
  }
  return run_guarded(concat("lockstep ", typed_name(*chosen, rest)), [&] { return chosen->run(rest); });
}

}  // namespace
}  // namespace lockstep::exercise

int main(int argc, char** argv) {
  const lockstep::exercise::Arguments words(argv + 1, argv + argc);
  return lockstep::run_guarded("lockstep", [&] { return lockstep::exercise::dispatch(words); });
}
