// grade-one: grades one submission in a separate process, so that no submission can end the batch.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/inherited_fds.hpp"
#include "base/json.hpp"
#include "base/plain_text.hpp"
#include "base/sha256.hpp"
#include "grading/command.hpp"
#include "grading/download_names.hpp"
#include "grading/judging.hpp"
#include "grading/manifest.hpp"
#include "grading/private_files.hpp"
#include "grading/process_tree.hpp"
#include "grading/reference.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Workspace;

constexpr std::size_t kMostOfProblem = 500;

struct Options {
  fs::path settings;
  fs::path submission;
  std::string key;
  std::string basis;
  std::int64_t user = 0;
  std::string received = "{}";
};

// An empty folder that is removed at the end of a scope. If that fails, for example because a sandboxed program has
// changed permissions, `lockstep grade` removes it, or warns.
class ScratchFolder {
 public:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

std::vector<Exercise> exercises_of(const Workspace& workspace, const Settings& settings) {
  std::vector<Exercise> exercises;
  for (const std::string& id : settings.exercises) exercises.push_back(find_exercise(workspace.catalogue, id));
  return exercises;
}

bool is_ascii(char letter) { return static_cast<unsigned char>(letter) < 0x80; }

// True if these letters are in the text in this order, perhaps with others between them.
bool is_spread_in(const std::string& letters, const std::string& text) {
  std::size_t at = 0;
  for (const char letter : text) at += at < letters.size() && letters[at] == letter ? 1 : 0;
  return at == letters.size();
}

// True if each word of one name is in the other. Letters outside of ASCII are left out, because Moodle and Canvas write
// them in different ways: "J\u00fcrgen" may be "jurgen" and "juergen".
bool may_be_same_person(const std::string& one, const std::string& other) {
  const std::string known = comparable_name(other);
  std::istringstream words(one);
  for (std::string word; words >> word;) {
    const std::string letters = comparable_name(word);
    std::string plain = letters;
    std::erase_if(plain, [](char letter) { return !is_ascii(letter); });
    const bool is_there = plain == letters ? known.find(plain) != std::string::npos : is_spread_in(plain, known);
    if (!is_there) return false;
  }
  return true;
}

// Takes the student's name from the manifest, unless Moodle or Canvas says who it is.
void take_name(const std::string& name, const nlohmann::json& received, StudentGrade& grade) {
  if (!received.contains("student")) {
    if (!name.empty()) grade.student = name;
  } else if (!received.contains("hides_student") && !may_be_same_person(name, grade.student)) {
    grade.problems.emplace_back("manifest.json names another student");
  }
}

// Reports mismatches between manifest and files, and between the manifest and this tree. Fills in the student's name.
// @return  The exercises that, according to the manifest, were begun with use-reference.
std::set<std::string> compare_with_manifest(const Submission& submission, const Settings& settings,
                                            const nlohmann::json& received, StudentGrade& grade) {
  const auto text = submission.files.find(kManifestName);
  if (text == submission.files.end()) {
    grade.problems.emplace_back("it has no manifest.json: not made by ./lockstep submit");
    return {};
  }
  const Manifest manifest = parse_manifest(text->second);
  constexpr std::size_t kMostOfName = 100;
  take_name(plain_text(manifest.student, kMostOfName, LineBreaks::kReplace), received, grade);
  if (manifest.release.tag != settings.release.tag) {
    grade.problems.push_back(
        concat("made with release ", plain_text(manifest.release.tag, kMostOfName, LineBreaks::kReplace), "; this is ",
               settings.release.tag,
               settings.takes_any_release ? "" : ": bring the course up to date (git pull), and submit again"));
    if (!settings.takes_any_release) grade.status = "refused";
  }
  for (const auto& [name, digest] : manifest.digests) {
    const auto file = submission.files.find(name);
    if (file != submission.files.end() && sha256_hex(file->second) != digest)
      grade.problems.push_back(concat("changed after ./lockstep submit: ", name));
  }
  return {manifest.references.begin(), manifest.references.end()};
}

// The grade if the files are our solution, which needs no judge. Notes anything that a person should check.
std::optional<ExerciseGrade> grade_of_reference(const Workspace& workspace, const Exercise& exercise,
                                                const Files& files, bool is_taken_over, StudentGrade& grade) {
  const Origin origin = origin_of(workspace.root, exercise, files, is_taken_over);
  if (origin == Origin::kReference)
    return ExerciseGrade{
        .id = exercise.id, .title = exercise.title, .max_points = exercise.points, .verdict = "REFERENCE"};
  if (origin == Origin::kUnclear)
    grade.problems.push_back(
        concat(exercise.id, ": the code of the reference solution, but too short to tell whether it was copied"));
  if (origin == Origin::kOwn && is_taken_over)
    grade.problems.push_back(concat(exercise.id, ": begun with use-reference, and changed since"));
  return std::nullopt;
}

// ", but lab.rar, notes.txt: ...": what somebody has handed in instead of the zip of `submit`.
std::string listed(const std::set<std::string>& others) {
  std::string names;
  for (const std::string& name : others) names += concat(names.empty() ? ", but " : ", ", name);
  return names.empty() ? "" : names + ": hand in the zip that ./lockstep submit writes";
}

// A submission's files and its manifest's notes on them.
struct HandedIn {
  Files files;
  std::set<std::string> references;  // exercises begun with use-reference
};

HandedIn read_and_compare(const Options& options, const std::vector<Exercise>& exercises, const Settings& settings,
                          StudentGrade& grade) {
  std::set<std::string> wanted = {kManifestName};
  for (const Exercise& exercise : exercises)
    for (const std::string& file : exercise.files) wanted.insert(path_in_submission(exercise, file));
  Submission submission;
  std::set<std::string> references;
  try {
    submission = read_submission(options.submission, [&](const std::string& path) { return wanted.contains(path); });
    references = compare_with_manifest(submission, settings, parse_json(options.received), grade);
  } catch (const FormatError& error) {
    grade.status = "refused";
    grade.problems.push_back(plain_text(error.what(), kMostOfProblem, LineBreaks::kReplace));
  } catch (const std::exception& error) {
    grade.status = "SETUP";
    grade.problems.push_back(concat("SETUP: the submission cannot be read: ",
                                    plain_text(error.what(), kMostOfProblem, LineBreaks::kReplace)));
  }
  for (const std::string& refusal : submission.refusals)
    grade.problems.push_back("not taken: " + plain_text(refusal, kMostOfProblem, LineBreaks::kReplace));
  if (grade.status == "graded" && submission.files.size() <= submission.files.count(kManifestName))
    grade.problems.push_back(concat("it has no file of these exercises", listed(submission.others)));
  return {std::move(submission.files), std::move(references)};
}

StudentGrade grade_submission(const Workspace& workspace, const Options& options, const Settings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  StudentGrade grade{.key = options.key, .student = options.key, .basis = options.basis};
  const nlohmann::json received = parse_json(options.received);
  if (const std::string student = received.value("student", ""); !student.empty()) grade.student = student;
  grade.problems = received.value("notes", std::vector<std::string>{});
  const std::vector<Exercise> exercises = exercises_of(workspace, settings);
  const auto [files, references] = read_and_compare(options, exercises, settings, grade);
  const Sandbox sandbox(workspace.build / "bin" / "lockstep_confine", static_cast<uid_t>(options.user),
                        settings.sandbox);
  for (const Exercise& exercise : exercises) {
    if (grade.status != "graded" && grade.exercises.empty()) break;  // nothing could be read
    std::optional<ExerciseGrade> known;
    if (!settings.reference_counts)
      known = grade_of_reference(workspace, exercise, files, references.contains(exercise.id), grade);
    const ScratchFolder scratch(settings.scratch_of(options.key) / exercise.target_name());
    grade.exercises.push_back(known ? *known
                                    : grade_exercise(workspace, exercise, files, settings, sandbox, scratch.path()));
    if (!grade.exercises.back().setup.empty()) {
      grade.status = "SETUP";
      grade.problems.push_back(concat(exercise.id, ": SETUP: ", grade.exercises.back().setup));
    }
  }
  std::error_code ignored;
  fs::remove_all(settings.scratch_of(options.key), ignored);
  grade.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return grade;
}

}  // namespace

int grade_one(const Arguments& arguments) {
  Options options;
  CommandLine app("Grades one submission; started by lockstep grade.", "lockstep_grade grade-one");
  app.add_option("--settings", options.settings, "The settings of the class").required();
  app.add_option("--submission", options.submission, "A zip or a folder").required();
  app.add_option("--key", options.key, "Names the results").required();
  app.add_option("--basis", options.basis, "Written into the result").required();
  app.add_option("--user", options.user, "User for submissions, if this runs as root").required();
  app.add_option("--received", options.received, "The student's name and notes on the submission, as JSON");
  if (const auto exit_code = app.parse(arguments)) return *exit_code;
  close_inherited_on_exec();
  keep_files_private();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with its parent, and so stops writing
  adopt_orphans();
  const Settings settings = settings_from(parse_json(read_file(options.settings)));
  write_student_files(settings.folder_of(options.key), grade_submission(exercise::open_workspace(), options, settings));
  return 0;
}

}  // namespace lockstep::grading
