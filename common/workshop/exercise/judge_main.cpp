// main() of a chapter's judge: tries a program and prints its findings as JSON. Contains no learner's code.
#include <sys/prctl.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/inherited_fds.hpp"
#include "base/json.hpp"
#include "exercise/examination.hpp"
#include "exercise/judges.hpp"
#include "exercise/machine_factor.hpp"

namespace lockstep::exercise {
namespace {

struct Options {
  std::string exercise;
  Subject subject;
  std::string bank;
  std::uint64_t seed = 1;
  int give_up_after = 0;
  int begin_none_after = 0;
  bool is_full = false;
  bool has_secret_seed = false;
};

nlohmann::json to_json(const CheckResult& result) {
  nlohmann::json json = {{"name", result.name},
                         {"points", result.points},
                         {"full_only", result.is_full_only},
                         {"seconds", result.seconds},
                         {"verdict", name_of(result.failure ? result.failure->verdict : VerdictClass::kPassed)}};
  if (result.failure) {
    json["summary"] = result.failure->summary;
    json["evidence"] = result.failure->evidence;
    json["next"] = result.failure->next;
    json["killed"] = result.failure->is_killed;
  }
  return json;
}

int judge(const Options& options) {
  const std::map<std::string, Judge> all = judges();
  const auto chosen = all.find(options.exercise);
  if (chosen == all.end()) throw UsageError(concat("this judge does not know exercise ", options.exercise));
  Examination exam(options.subject, options.is_full ? Thoroughness::kFull : Thoroughness::kQuick, options.seed);
  exam.give_up_after(options.give_up_after);
  exam.begin_none_after(std::chrono::seconds(options.begin_none_after));
  chosen->second(exam);
  nlohmann::json json = {{"exercise", options.exercise},
                         {"seed", options.has_secret_seed ? 0 : options.seed},
                         {"machine_factor", machine_factor().wall},
                         {"checks", nlohmann::json::array()},
                         {"likely", nlohmann::json::array()}};
  for (const CheckResult& result : exam.results()) json["checks"].push_back(to_json(result));
  if (!options.bank.empty()) {
    const Subject bank{.program = options.bank, .patience = options.subject.patience};
    for (const LikelyMistake& mistake : likely_mistakes(exam, bank, chosen->second, options.seed))
      json["likely"].push_back(
          {{"name", mistake.name}, {"description", mistake.description}, {"advice", mistake.advice}});
  }
  std::cout << dump_json(json, 1, BadUtf8::kReplace) << "\n";
  return 0;
}

// One entry for each mistake: its name, the first check that fails, and the mistakes that it is identified as.
int compare_bank(const Options& options) {
  const std::map<std::string, Judge> all = judges();
  nlohmann::json json = nlohmann::json::array();
  for (const BankEntry& entry : examine_bank({.program = options.bank}, all.at(options.exercise), options.seed)) {
    nlohmann::json checks = nlohmann::json::array();
    if (entry.failure) checks.push_back(to_json(*entry.failure));
    json.push_back({{"name", entry.name}, {"checks", checks}, {"likely", entry.alike}});
  }
  std::cout << dump_json(json, 1, BadUtf8::kReplace) << "\n";
  return 0;
}

// Every user of a machine can read a command line, but not standard input.
std::uint64_t read_secret_seed() {
  ::prctl(PR_SET_DUMPABLE, 0);  // also hides this process's memory in /proc from processes of the same user
  std::uint64_t seed = 0;
  if (!(std::cin >> seed)) throw UsageError("there is no seed on standard input");
  return seed;
}

// A file that cannot be read is not quoted; the verdict is unaffected.
SourceFiles read_sources(const std::vector<std::filesystem::path>& paths) {
  SourceFiles sources;
  for (const std::filesystem::path& path : paths) {
    try {
      sources[path.filename().string()] = read_file(path);
    } catch (const IoError& error) {
      std::cerr << "cannot quote from it: " << error.what() << "\n";
    }
  }
  return sources;
}

int list_bank(const std::string& program) {
  std::cout << dump_json(list_mistakes({.program = program}), 1) << "\n";
  return 0;
}

}  // namespace
}  // namespace lockstep::exercise

int main(int argc, char** argv) {
  using namespace lockstep;
  CommandLine app("Tries a program against the checks of an exercise. Run by ./lockstep check and grade.");
  exercise::Options options;
  std::string sandbox;
  std::vector<std::filesystem::path> sources;
  bool is_list = false, compares_bank = false;
  app.add_option("exercise", options.exercise, "Its number, such as 02.1").required();
  app.add_option("--subject", options.subject.program, "The program to try");
  app.add_option("--sandbox", sandbox, "A JSON array: the command that runs it in a sandbox");
  app.add_option("--patience", options.subject.patience, "How many times longer wall time is than usual");
  app.add_option("--source-folder", options.subject.source_folder, "Where its author's files are");
  app.add_option("--source", sources, "Its author's files, of which verdicts quote lines");
  app.add_option("--mistake", options.subject.mistake, "Of a program with mistakes or alternatives: which one");
  app.add_option("--bank", options.bank, "The program with the exercise's mistakes, or its alternatives for --list");
  app.add_option("--seed", options.seed, "For inputs");
  app.add_option("--give-up-after", options.give_up_after, "After so many checks that do not end; 0: never");
  app.add_option("--begin-none-after", options.begin_none_after, "Seconds after which no check begins; 0: never");
  app.add_flag("--secret-seed", options.has_secret_seed, "Read the seed from standard input");
  app.add_flag("--full", options.is_full, "All checks, with faults injected");
  app.add_flag("--list", is_list, "Print what is in the bank and end");
  app.add_flag("--compare-bank", compares_bank, "Try all mistakes of the bank, and say which are taken for which");
  return run_main(app, argc, argv, [&] {
    close_inherited_on_exec();
    if (is_list) return exercise::list_bank(options.bank);
    if (compares_bank) return exercise::compare_bank(options);
    if (!sandbox.empty()) options.subject.sandbox = parse_json(sandbox).get<std::vector<std::string>>();
    if (options.has_secret_seed) options.seed = exercise::read_secret_seed();
    options.subject.sources = exercise::read_sources(sources);
    return exercise::judge(options);
  });
}
