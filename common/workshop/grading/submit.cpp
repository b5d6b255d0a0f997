// submit: packs the learner's files of some exercises into one zip, with a manifest.
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/plain_text.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/shell.hpp"
#include "grading/archive.hpp"
#include "grading/command.hpp"
#include "grading/labs.hpp"
#include "grading/manifest.hpp"
#include "grading/reference.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Record;
using exercise::Standing;
using exercise::Workspace;

struct Options {
  Arguments words;
  int lab = 0;
  std::string student;
  fs::path out = "submission.zip";
};

std::string name_in_git(const Workspace& workspace) {
  try {
    const auto finished = exercise::run({"git", "config", "user.name"}, workspace.root, Collect::kOutput);
    return finished.output.substr(0, finished.output.find('\n'));
  } catch (const IoError&) {
    return "";  // git is not installed
  }
}

// A note to the student on a point that the instructor will see.
const char* note_on(Origin origin, bool is_taken_over) {
  if (origin == Origin::kReference) return "  the reference solution: no points";
  return is_taken_over ? "  begun with use-reference; the manifest says so" : "";
}

// The known state of the files, without judging them again, which may take minutes.
class Overview {
 public:
  void add(const Workspace& workspace, const Exercise& exercise, const Record& record, const std::string& note) {
    const Standing standing = standing_of(workspace, exercise, record);
    ++counts_[standing];
    std::cout << "  " << word_for(standing) << "  " << exercise.id << " " << exercise.title << "  (files "
              << fingerprint(workspace, exercise) << ")" << note << "\n";
    if (standing != Standing::kPasses) open_.push_back(exercise.id);
  }

  // Prints one line for all, and the remaining work.
  void print(const std::string& what) const {
    std::cout << what << ": " << count(Standing::kPasses) << " pass all checks, " << count(Standing::kPassesQuick)
              << " the quick ones, " << count(Standing::kFails) << " fail, " << count(Standing::kUnknown)
              << " not checked\n";
    if (!open_.empty())
      std::cout << "next: ./lockstep check " << open_.front()
                << " --full  (grading runs all checks), then submit again\n";
  }

 private:
  static const char* word_for(Standing standing) {
    switch (standing) {
      case Standing::kPasses:
        return "passes      ";
      case Standing::kPassesQuick:
        return "passes quick";
      case Standing::kFails:
        return "FAILS       ";
      case Standing::kUnknown:
        break;
    }
    return "not checked ";
  }
  [[nodiscard]] int count(Standing standing) const {
    const auto found = counts_.find(standing);
    return found == counts_.end() ? 0 : found->second;
  }

  std::map<Standing, int> counts_;
  std::vector<std::string> open_;
};

// A source of the learner's own compiles with `check`, and is missing where the submission is graded.
void warn_of_other_sources(const Workspace& workspace, const Exercise& exercise) {
  const std::set<std::string> endings = {".hpp", ".h", ".cpp", ".cu", ".cuh", ".inc"};
  std::set<std::string> others;
  for (const auto& entry : fs::directory_iterator(workspace.work(exercise)))
    if (endings.contains(entry.path().extension())) others.insert(entry.path().filename());
  std::string given;
  for (const std::string& file : exercise.files) {
    others.erase(file);
    given += (given.empty() ? "" : " and ") + file;
  }
  for (const std::string& file : others)
    std::cout << "      NOT handed in: " << plain_text(file, 100, LineBreaks::kReplace) << "; put its code into "
              << given << "\n";
}

int write_submission(const Options& options) {
  const Workspace workspace = exercise::open_workspace();
  Manifest manifest{.student = options.student.empty() ? name_in_git(workspace) : options.student,
                    .release = release_of(workspace.root),
                    .exercises = {},
                    .references = {},
                    .digests = {}};
  if (manifest.student.empty()) throw UsageError("whose is it? Give your name with --student");
  Files files;
  Overview overview;
  for (const Exercise& exercise : chosen_exercises(workspace.root, workspace.catalogue, options.lab, options.words)) {
    if (!workspace.is_started(exercise)) {
      const bool is_asked_for = options.lab != 0 || !options.words.empty();
      if (is_asked_for) std::cout << "  not started   " << exercise.id << " " << exercise.title << "\n";
      continue;
    }
    manifest.exercises.push_back(exercise.id);
    for (const std::string& file : exercise.files) {
      const std::string path = path_in_submission(exercise, file);
      files[path] = read_file(workspace.work(exercise) / file);
      manifest.digests[path] = sha256_hex(files[path]);
    }
    const Record record = read_record(workspace, exercise);
    const bool is_taken_over = record.has_used_reference();
    const Origin origin = origin_of(workspace.root, exercise, files, is_taken_over);
    if (is_taken_over || origin == Origin::kReference) manifest.references.push_back(exercise.id);
    overview.add(workspace, exercise, record, note_on(origin, is_taken_over));
    warn_of_other_sources(workspace, exercise);
  }
  if (files.empty()) throw UsageError("none of these exercises is started");
  files[kManifestName] = to_text(manifest);
  write_zip(options.out, files);
  std::cout << "wrote " << options.out.string() << ": " << manifest.exercises.size()
            << (manifest.exercises.size() == 1 ? " exercise of " : " exercises of ") << printable(manifest.student)
            << ", release " << manifest.release.tag << "\n";
  overview.print(manifest.exercises.size() == 1 ? "of this exercise" : concat("of these ", manifest.exercises.size()));
  return 0;
}

}  // namespace

int submit(const Arguments& arguments) {
  Options options;
  CommandLine app("Puts your files of some exercises into a zip that your instructor can grade.", "lockstep submit");
  app.add_option("exercises", options.words, "Their numbers, such as 02.1; left out: all that you have started")
      .without_default();
  app.add_option("--lab", options.lab, "All exercises of this lab").check(whole_number(1)).without_default();
  app.add_option("--student", options.student, "Your name; left out: git's user.name").without_default();
  app.add_option("--out", options.out, "The zip").type_name("FILE.zip");
  if (const auto exit_code = app.parse(arguments)) return *exit_code;
  return write_submission(options);
}

}  // namespace lockstep::grading
