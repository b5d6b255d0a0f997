#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "launch/launcher.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "Usage: ./lockstep run NN [program] [--nproc N] [-- arguments]\n\n"
    "Runs a program of chapter NN; without a program, lists those of the chapter.\n"
    "With --nproc N it is started as N ranks (programs that start their own ranks need none).\n"
    "Options without a program are for the chapter's trainer, as in ./lockstep run 06 --no-sync.\n"
    "./lockstep run 06 --mine [--nproc N] [options] (also 09, 10 and 11) trains with our code, then with your files of "
    "the\n"
    "exercises that have passed, and draws both loss curves.\n";

// The program that `./lockstep run NN` runs if options follow and no program.
struct Trainer {
  std::string_view chapter;
  std::string_view program;
  int (*command)(const Arguments&) = nullptr;  // starts it with the options; null: as any program of the chapter
};
constexpr std::array kTrainers{
    Trainer{"06", "train_gpt_ddp", train},
    Trainer{"09", "train_gpt_sharded"},
    Trainer{"10", "train_gpt_tensor_parallel"},
    Trainer{"11", "train_gpt_pipeline"},
    Trainer{"12", "train_gpt_3d"},
};

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (extension.empty() ? entry.is_directory() : entry.path().extension() == extension) {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> programs_of(const fs::path& chapter) {
  std::vector<std::string> names = names_in(chapter / "programs", ".cpp");
  const std::vector<std::string> in_cuda = names_in(chapter / "programs", ".cu");
  names.insert(names.end(), in_cuda.begin(), in_cuda.end());
  std::sort(names.begin(), names.end());
  return names;
}

// "6", "06" and "06_gpt_ddp" all name the chapter.
fs::path find_chapter(const Project& project, const std::string& word) {
  const std::vector<std::string> chapters = names_in(project.root / "chapters", "");
  const std::string number = word.size() == 1 ? "0" + word : word;
  for (const std::string& chapter : chapters) {
    if (chapter == word || chapter.substr(0, 2) == number) return project.root / "chapters" / chapter;
  }
  std::string known;
  for (const std::string& chapter : chapters) known += "\n  " + chapter;
  throw UsageError(concat("there is no chapter ", word, did_you_mean(word, chapters), " The chapters:", known));
}

struct Request {
  std::string chapter;
  std::optional<std::string> program;
  std::optional<int> world_size;
  Arguments arguments;  // for the program
};

// NN and program come first; --nproc may be anywhere before "--"; the rest belongs to the program.
Request parse(const Arguments& words) {
  Request request{words.front(), std::nullopt, std::nullopt, {}};
  std::size_t i = 1;
  if (i < words.size() && words[i].rfind('-', 0) != 0) request.program = words[i++];
  for (; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].rfind("--nproc=", 0) == 0) {
      request.world_size = parse_rank_count(words[i].substr(8));
    } else if (words[i] == "--nproc") {
      if (++i == words.size()) throw UsageError("--nproc needs a number of ranks");
      request.world_size = parse_rank_count(words[i]);
    } else {
      request.arguments.push_back(words[i]);
    }
  }
  if (i < words.size())
    request.arguments.insert(request.arguments.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  return request;
}

}  // namespace

int run_chapter(const Arguments& arguments) {
  if (arguments.empty()) throw UsageError(as_typed("which chapter? For example: ./lockstep run 01"));
  if (arguments.front() == "--help" || arguments.front() == "-h") {
    std::cout << as_typed(kUsage);
    return 0;
  }
  const Project project = find_project();
  Request request = parse(arguments);
  const fs::path chapter = find_chapter(project, request.chapter);
  const std::vector<std::string> programs = programs_of(chapter);
  if (!request.program && arguments.size() > 1) {
    const std::string number = chapter.filename().string().substr(0, 2);
    const auto trainer = std::ranges::find(kTrainers, number, &Trainer::chapter);
    if (trainer != kTrainers.end() && trainer->command != nullptr) {
      Arguments options(arguments.begin() + 1, arguments.end());
      if (const auto divider = std::ranges::find(options, "--"); divider != options.end()) options.erase(divider);
      return trainer->command(options);  // which takes the launcher's options and the trainer's together
    }
    if (trainer != kTrainers.end()) request.program = trainer->program;
  }
  if (!request.program) {
    std::cout << "Programs of " << chapter.filename().string() << " (its lesson: " << (chapter / "README.md").string()
              << "):\n";
    for (const std::string& program : programs) {
      std::cout << "  ./lockstep run " << request.chapter << " " << program << "\n";
    }
    return 0;
  }
  if (std::find(programs.begin(), programs.end(), *request.program) == programs.end()) {
    throw UsageError(concat("chapter ", request.chapter, " has no program ", *request.program,
                            did_you_mean(*request.program, programs), "  (./lockstep run ", request.chapter,
                            " lists them)"));
  }
  Arguments command = {find_program(project, *request.program).string()};
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  if (!request.world_size) become(command);
  launch::JobOptions job;
  job.command = command;
  job.world_size = *request.world_size;
  return launch::run_job(job).exit_code;
}

}  // namespace lockstep::tool
