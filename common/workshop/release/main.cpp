// release: makes the repository for students. A separate program, which only lecturers build.
#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise_tool/shell.hpp"
#include "exercise_tool/workspace.hpp"
#include "release/copy.hpp"
#include "release/prebuilt.hpp"
#include "release/release_check.hpp"
#include "release/release_note.hpp"
#include "release/repository.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;
using exercise::Workspace;

struct Options {
  std::string name;
  fs::path out, onto, secret, checked;
  std::vector<std::string> exercises;
  std::string preset = "release";
  int jobs = 0;
  bool is_dirty_allowed = false;
};

std::string git(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-C", folder.string()});
  const FinishedProcess done = exercise::run(words, folder, Collect::kSeparate);
  if (done.exit_code != 0) throw Error(concat("git ", words[3], " failed:\n", done.output, done.errors));
  return done.output;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::ostringstream out;
  out << std::put_time(std::gmtime(&now), "%Y-%m-%d");
  return out.str();
}

int report(const fs::path& folder, const std::vector<std::string>& problems, std::size_t known) {
  for (const std::string& problem : problems) std::cout << "  " << problem << "\n";
  if (problems.empty())
    std::cout << "checked: no answer in " << folder.string() << "\n         (" << known
              << " runs of tokens looked for)\n";
  else
    std::cout
        << problems.size() << " places in " << folder.string() << " must not be given to students.\n"
        << "Name such files under \"gives_away\" in the exercise's exercise.json, or under \"may_show\" if a part "
           "of the answer is meant to be seen.\n";
  return problems.empty() ? 0 : 1;
}

int check(const Workspace& workspace, const fs::path& folder) {
  const Answers answers = answers_of(workspace.root, workspace.catalogue);
  const Plan all = plan_release(workspace.root, tracked_files(workspace.root), {});
  return report(folder, check_release(folder, answers, all.shown), answers.size());
}

std::string head_of(const Workspace& workspace) { return lines_of(git(workspace.root, {"rev-parse", "HEAD"})).at(0); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "all" : text;
}

// The exercises that a note names; none: all of them.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text == "all" ? "" : text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

struct Written {
  Answers answers;
  Plan plan;
};

// Writes the files of a release into an empty folder, and its note.
Written write_release(const Workspace& workspace, const Options& options, const ReleaseNote& note,
                      const fs::path& out) {
  Plan plan = plan_release(workspace.root, tracked_files(workspace.root), words_of(note.exercises));
  Answers answers = answers_of(workspace.root, plan.exercises);
  std::cout << counted(plan.exercises.size(), "exercise") << ", " << counted(plan.files.size(), "file") << ", "
            << counted(plan.giveaways.size(), "source")
            << " left out as answers;\ncompiling these, judges and mistakes in build/" << options.preset
            << ": some minutes without a word" << std::endl;
  fs::create_directories(out);
  write_prebuilt({workspace.root, options.preset, options.jobs}, plan, out / "prebuilt");
  copy_files(workspace.root, plan, answers, out);
  write_file(out / "RELEASE", to_text(note));
  return {std::move(answers), std::move(plan)};
}

void print_next(const ReleaseNote& note, const fs::path& out) {
  std::cout << "next: git tag -a " << note.tag() << " " << note.commit.substr(0, 10) << " -m 'as students have it'\n"
            << "      here, so that ./lockstep grade knows the release;\n"
            << "      then push " << out.string() << " with its tags\n";
}

int release(const Workspace& workspace, const Options& options) {
  require_class_name(options.name);
  const fs::path out = fs::absolute(options.out).lexically_normal();
  if (fs::exists(out) && !fs::is_empty(out)) throw UsageError(concat(out.string(), " is not empty"));
  if (!options.is_dirty_allowed) require_committed(workspace.root);
  const fs::path secret = options.secret.empty() ? fs::path(out.string() + ".secret") : fs::absolute(options.secret);
  if (!secret.lexically_relative(out).string().starts_with(".."))
    throw UsageError("the secret would be in the release");

  const std::string head = head_of(workspace);
  const ReleaseNote note{.name = options.name,
                         .commit = head,
                         .date = today(),
                         .system = this_system(),
                         .key = key_of(read_or_make_secret(secret), options.name, head),
                         .exercises = joined(options.exercises)};
  const auto [answers, plan] = write_release(workspace, options, note, out);
  commit_release(out, note);
  const int result = report(out, check_release(out, answers, plan.shown), answers.size());
  if (result != 0) return result;
  std::cout << "wrote " << out.string() << ",\n      one commit with the tag " << note.tag() << "\n"
            << "the secret of this class: keep " << secret.string() << "\n";
  print_next(note, out);
  return 0;
}

// Removes a folder at the end of a scope.
class NewState {
 public:
  explicit NewState(fs::path path) : path_(std::move(path)) {
    if (fs::exists(path_)) throw UsageError(concat(path_.string(), " is in the way: remove it"));
  }
  NewState(const NewState&) = delete;
  NewState& operator=(const NewState&) = delete;
  ~NewState() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

// A folder's path without a slash at its end.
fs::path folder_path(const fs::path& path) {
  const fs::path full = fs::absolute(path).lexically_normal();
  return full.filename().empty() ? full.parent_path() : full;
}

int correct(const Workspace& workspace, const Options& options) {
  const fs::path onto = folder_path(options.onto);
  const fs::path secret = options.secret.empty() ? fs::path(onto.string() + ".secret") : fs::absolute(options.secret);
  const ReleaseNote before = require_correctable(onto, secret);
  if (!options.name.empty() && options.name != before.name)
    throw UsageError(concat(onto.string(), " is the release of ", before.name, ", not of ", options.name));
  const std::string kept = before.exercises.empty() ? joined(options.exercises) : before.exercises;
  if (!options.exercises.empty() && joined(options.exercises) != kept)
    throw UsageError(concat(onto.string(), " has the exercises \"", kept, "\": a correction keeps them"));
  if (!options.is_dirty_allowed) require_committed(workspace.root);
  const std::string head = head_of(workspace);
  if (exercise::run({"git", "-C", workspace.root.string(), "merge-base", "--is-ancestor", before.commit, head},
                    workspace.root, Collect::kBoth)
          .exit_code != 0)
    throw UsageError(concat(onto.string(), " was made from commit ", before.commit.substr(0, 10),
                            ", and this commit is not a later one: check out a branch from it"));
  const ReleaseNote note{.name = before.name,
                         .commit = head,
                         .date = today(),
                         .system = this_system(),
                         .key = key_of(read_or_make_secret(secret), before.name, head),
                         .exercises = kept,
                         .correction = before.correction + 1};
  const NewState state(onto.string() + ".new");
  const auto [answers, plan] = write_release(workspace, options, note, state.path());
  const int result = report(state.path(), check_release(state.path(), answers, plan.shown), answers.size());
  if (result != 0) return result;  // students have nothing of it yet
  commit_correction(onto, state.path(), note);
  std::cout << onto.string() << "\n      has one more commit, with the tag " << note.tag() << "\n";
  print_next(note, onto);
  return 0;
}

}  // namespace
}  // namespace lockstep::release

int main(int argc, char** argv) {
  using namespace lockstep;
  CommandLine app("Writes the repository that students get: the course without answers.", "lockstep release");
  release::Options options;
  app.add_option("--class", options.name, "The class, such as ppc-2026").without_default();
  app.add_option("--out", options.out, "The repository's folder; new or empty").type_name("DIR").without_default();
  app.add_option("--onto", options.onto, "Instead of --out: a release; it gets this state as one more commit")
      .type_name("DIR")
      .without_default();
  app.add_option("--secret", options.secret, "The class's secret; left out: DIR.secret")
      .type_name("FILE")
      .without_default();
  app.add_option("--exercises", options.exercises,
                 "Only these exercises or chapters, such as 00 01 02.1; left out: all")
      .without_default();
  app.add_option("--preset", options.preset, "CMake's preset for what is compiled");
  app.add_option("--jobs", options.jobs, "Compilers at once; 0: as many as fit into memory");
  app.add_flag("--allow-dirty", options.is_dirty_allowed, "Also with changes that are not committed");
  app.add_option("--check", options.checked, "Only look for answers in this folder").type_name("DIR").without_default();
  return run_main(app, argc, argv, [&] {
    const exercise::Workspace workspace = exercise::open_workspace();
    if (!options.checked.empty()) return release::check(workspace, std::filesystem::absolute(options.checked));
    if (!options.onto.empty() && !options.out.empty()) throw UsageError("give --out or --onto, not both");
    if (!options.onto.empty()) return release::correct(workspace, options);
    if (options.name.empty() || options.out.empty())
      throw UsageError("--class and --out are needed, or --onto, or --check");
    return release::release(workspace, options);
  });
}
