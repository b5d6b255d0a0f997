// grade: reads a folder of submissions, writes results per student and for the class.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/inherited_fds.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/plain_text.hpp"
#include "base/sha256.hpp"
#include "base/state_folder.hpp"
#include "base/terminal.hpp"
#include "exercise_tool/build_work.hpp"
#include "exercise_tool/shell.hpp"
#include "grading/batch.hpp"
#include "grading/class_report.hpp"
#include "grading/command.hpp"
#include "grading/given_checks.hpp"
#include "grading/gradebooks.hpp"
#include "grading/labs.hpp"
#include "grading/private_files.hpp"
#include "grading/process_tree.hpp"
#include "grading/sandbox_user.hpp"
#include "grading/sandboxed_build.hpp"
#include "grading/secret_number.hpp"
#include "grading/selftest.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Workspace;

struct Options {
  fs::path submissions;
  fs::path out;
  std::vector<std::string> only;
  int lab = 0;
  int jobs = 0;
  fs::path secret;
  std::string refused_secret;
  fs::path seeds;
  fs::path moodle_worksheet, canvas_gradebook;
  std::string canvas_column;
  double patience = 2;
  bool is_again = false;
  bool takes_any_release = false;
  bool reference_counts = false;
  bool is_selftest = false;
  bool goes_without_sandbox = false;
};

int usual_jobs() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

// Builds the judges, banks, solutions and templates of all exercises in one go.
void build_all(const Workspace& workspace, const std::vector<Exercise>& exercises) {
  std::cout << "building what is given for " << counted(exercises.size(), "exercise") << "\n" << std::flush;
  std::vector<std::string> command = exercise::ninja_in(workspace.build);
  for (const Exercise& exercise : exercises) {
    command.push_back(concat("exercise_", exercise.target_name()));
    command.push_back(concat("exercise_", exercise.target_name(), "_template"));
  }
  const FinishedProcess built = exercise::run(command, workspace.root, Collect::kBoth);
  if (built.exit_code != 0) throw Error(concat("what is given does not build:\n", built.output));
}

std::map<std::string, std::uint64_t> secret_seeds(const Options& options, const std::vector<std::string>& exercises) {
  if (!options.refused_secret.empty())
    throw UsageError(
        "a command line can be read by every user of this machine: write the key into a file that only you may read, "
        "and give --secret-seed-file FILE (or - for standard input)");
  if (!options.seeds.empty() && !options.secret.empty())
    throw UsageError("points come from one source of secret inputs: give --seeds or --secret-seed-file, not both");
  if (!options.seeds.empty()) return seeds_from_file(options.seeds, exercises);
  if (!options.secret.empty()) return seeds_from_key(read_secret(options.secret), exercises);
  return {};
}

// Refuses to build or run strangers' code unless every forbidden action was tried and prevented.
void require_sandbox(const std::vector<Protection>& protections) {
  std::string missing;
  for (const Protection& one : protections)
    if (!one.holds) missing += concat("\n  ", one.name);
  if (missing.empty()) return;
  throw UsageError(
      concat("submissions would be run without these protections:", missing,
             "\nInstall bubblewrap, or grade on a machine or in a virtual machine where it may make namespaces "
             "(docs/grading.md). For code that you have read yourself: --no-sandbox"));
}

// Submissions are compiled and run where their own user sees the course's headers and programs.
void require_way_to_course(const Sandbox& sandbox, const Workspace& workspace) {
  const fs::path closed = sandbox.closed_folder(workspace.root);
  if (closed.empty()) return;
  throw UsageError(concat("without bubblewrap a user of their own compiles and runs submissions, and may not enter ",
                          closed.string(),
                          ", where this course is: move it to a folder that all users may enter, "
                          "such as /srv/lockstep"));
}

std::vector<Protection> print_protections(const Sandbox& sandbox, const Workspace& workspace) {
  const std::vector<Protection> protections = sandbox.try_protections(workspace.root / "solutions" / "README.md");
  std::cout << "sandbox: " << describe(sandbox.kind()) << "\n";
  for (const Protection& one : protections)
    std::cout << "  " << (one.holds ? "active      " : "NOT ACTIVE  ") << one.name << "\n";
  std::cout << std::flush;
  return protections;
}

// Fingerprint of everything that affects grades except the submission: settings, judges and headers.
std::string settings_fingerprint(const Workspace& workspace, const Settings& settings,
                                 const std::vector<Exercise>& exercises) {
  nlohmann::json json = to_json(settings);
  json.erase("out");
  std::string text = json.dump();
  for (const Exercise& exercise : exercises) {
    text += concat(sha256_hex(read_file(judge_of(workspace, exercise))), exercise.points);
    for (const auto& [name, weight] : exercise.weights) text += concat(name, "=", weight, "\n");
  }
  return sha256_hex(text);
}

fs::path out_folder(const Options& options) {
  const fs::path out = fs::absolute(options.out).lexically_normal();
  return out.filename().empty() ? out.parent_path() : out;
}

// In the folder of submissions the results would be one.
void require_apart(const fs::path& submissions, const fs::path& out) {
  const fs::path place = fs::weakly_canonical(out).lexically_relative(fs::weakly_canonical(submissions));
  if (fs::is_directory(submissions) && !place.empty() && *place.begin() != "..")
    throw UsageError(concat("the results would be among the submissions in ", submissions.string(),
                            ": give a folder outside of it with --out"));
}

struct Prepared {
  Workspace workspace;
  std::vector<Exercise> exercises = {};
  Settings settings = {};
  std::vector<Protection> protections = {};
  std::unique_ptr<FolderLock> lock = {};
};

Prepared prepare(const Options& options) {
  Prepared prepared{.workspace = exercise::open_workspace()};
  const Workspace& workspace = prepared.workspace;
  Settings& settings = prepared.settings;
  prepared.exercises = chosen_exercises(workspace.root, workspace.catalogue, options.lab, options.only);
  for (const Exercise& exercise : prepared.exercises) settings.exercises.push_back(exercise.id);
  settings.seeds = secret_seeds(options, settings.exercises);
  settings.out = out_folder(options);
  prepared.lock = std::make_unique<FolderLock>(settings.out);
  build_all(workspace, prepared.exercises);
  keep_files_private();  // after the build, which the user for submissions must be able to read
  settings.release = release_of(workspace.root);
  settings.takes_any_release = options.takes_any_release;
  settings.reference_counts = options.reference_counts;
  settings.patience = options.patience;
  const SandboxUser user;
  const Sandbox sandbox = Sandbox::best(workspace.build / "bin" / "lockstep_confine", static_cast<uid_t>(user.id()));
  settings.sandbox = sandbox.kind();
  prepared.protections = print_protections(sandbox, workspace);
  if (!options.is_selftest && !options.goes_without_sandbox) require_sandbox(prepared.protections);
  require_way_to_course(sandbox, workspace);
  fs::remove_all(settings.out / ".scratch");
  make_private_folder(settings.out / ".scratch");
  make_stage(workspace, settings.stage());
  settings.given = find_given_checks(workspace, prepared.exercises, settings, sandbox);
  return prepared;
}

// On Moodle and Canvas a student has a number; without it, only the name in the manifest tells.
void print_repeated(const std::vector<Task>& tasks, const std::vector<StudentGrade>& grades) {
  std::vector<StudentGrade> unnumbered;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].origin) unnumbered.push_back(grades[i]);
  for (const std::string& line : repeated_names(unnumbered))
    std::cout << "the same name in more than one submission: " << line << "\n";
}

// At the end. Remaining files do no harm; the next grading removes them first.
void remove_scratch(const Settings& settings) {
  std::error_code error;
  fs::remove_all(settings.out / ".scratch", error);
  if (error) Logger().warning(concat("cannot remove ", (settings.out / ".scratch").string(), ": ", error.message()));
}

// The grade of an earlier run, perhaps from other files or settings.
std::optional<StudentGrade> graded_before(const std::string& key, const Settings& settings) {
  auto grade = read_student_grade(settings.folder_of(key));
  if (!grade || grade->status == "SETUP") return std::nullopt;
  return grade;
}

// After a download of late submissions alone, the tables have nobody else.
void print_absent(const std::vector<Task>& tasks, const Settings& settings) {
  constexpr std::size_t kMostNames = 5;
  std::set<std::string> absent;
  std::error_code missing;  // where nobody has handed in
  for (const auto& folder : fs::directory_iterator(settings.out / "students", missing))
    if (fs::exists(folder.path() / "grade.json")) absent.insert(folder.path().filename());
  for (const Task& task : tasks) absent.erase(task.key);
  if (absent.empty()) return;
  std::cout << counted(absent.size(), "student") << " of an earlier grading, not among these submissions, "
            << (absent.size() == 1 ? "is" : "are") << " not in grades.csv:";
  std::size_t named = 0;
  for (const std::string& key : absent)
    if (named++ < kMostNames) std::cout << " " << key;
  std::cout << (absent.size() > kMostNames ? " ..." : "")
            << "\n  their results are in students/; for one table of all, give all submissions at once\n";
}

int run_selftest(Options options) {
  if (options.out.empty()) options.out = temporary_folder() / concat("lockstep_selftest_", ::getpid());
  const bool is_new = !fs::exists(options.out);
  const Prepared prepared = prepare(options);
  const SandboxUser user;
  const Sandbox sandbox(prepared.workspace.build / "bin" / "lockstep_confine", static_cast<uid_t>(user.id()),
                        prepared.settings.sandbox);
  const std::vector<std::string> complaints =
      selftest(prepared.workspace, prepared.exercises, prepared.settings, sandbox, [](const std::string& line) {
        std::cout << line << "\n" << std::flush;
      });
  remove_scratch(prepared.settings);
  std::error_code ignored;
  if (is_new) fs::remove_all(prepared.settings.out, ignored);
  for (const std::string& complaint : complaints) std::cout << "FAILED " << complaint << "\n";
  std::cout << (complaints.empty() ? "the selftest passed\n" : "the selftest FAILED\n");
  return complaints.empty() ? 0 : 1;
}

// The grade of each submission, in the order of the tasks: reused or new.
std::vector<StudentGrade> grade_tasks(const std::vector<Task>& tasks, const Options& options,
                                      const Settings& settings) {
  const fs::path settings_file = settings.out / ".scratch" / "settings.json";
  write_file(settings_file, dump_json(to_json(settings), 1) + "\n");
  std::map<std::string, StudentGrade> grades;
  std::vector<Task> open;
  std::size_t outdated = 0;
  for (const Task& task : tasks) {
    const auto before = options.is_again ? std::nullopt : graded_before(task.key, settings);
    if (before && before->basis == task.basis) {
      grades[task.key] = *before;
    } else {
      open.push_back(task);
      outdated += before ? 1 : 0;
    }
  }
  if (!grades.empty()) std::cout << grades.size() << " are graded already (--again grades them anew)\n";
  if (outdated > 0)
    std::cout << outdated
              << " were graded before, and are graded anew: the submission, the judges or the settings\n"
                 "  (key or seeds, exercises, points, weights, release, options) are not what they were\n";
  std::size_t done = 0;
  const auto report = [&](const StudentGrade& grade) {
    std::cout << "[" << ++done << "/" << open.size() << "] " << grade.key << "  "
              << (grade.status == "graded" ? concat(grade.points(), " of ", grade.max_points()) : grade.status) << "  "
              << with_digits(grade.seconds, 1) << " s\n"
              << std::flush;
  };
  for (StudentGrade& grade : grade_all(open, settings, settings_file, fs::read_symlink("/proc/self/exe"),
                                       options.jobs > 0 ? options.jobs : usual_jobs(), report))
    grades[grade.key] = std::move(grade);
  std::vector<StudentGrade> all;
  for (const Task& task : tasks) all.push_back(grades.at(task.key));
  return all;
}

// The files of Moodle and Canvas that get the grades.
struct Gradebooks {
  std::optional<MoodleWorksheet> moodle;
  std::optional<CanvasGradebook> canvas;
};

// Before anything is graded: a wrong file should not be found out an hour later.
Gradebooks read_gradebooks(const Options& options) {
  if (!options.canvas_column.empty() && options.canvas_gradebook.empty())
    throw UsageError("--canvas-column names a column of a gradebook: give that file, too, with --canvas-gradebook");
  Gradebooks books;
  if (!options.moodle_worksheet.empty()) books.moodle.emplace(read_file(options.moodle_worksheet));
  if (!options.canvas_gradebook.empty())
    books.canvas.emplace(read_file(options.canvas_gradebook), options.canvas_column);
  return books;
}

void write_gradebook(const fs::path& file, const FilledGradebook& filled) {
  replace_file(file, filled.text);
  std::cout << file.string() << ": " << filled.filled << " grades to import\n";
  for (const std::string& remark : filled.remarks) std::cout << "  not in it: " << remark << "\n";
  if (filled.feedback.empty()) return;
  fs::path feedback = file;
  write_zip(feedback.replace_filename(file.stem().string() + "_feedback.zip"), filled.feedback);
  std::cout << feedback.string() << ": feedback for " << counted(filled.feedback.size(), "student") << "\n";
}

// @param grades  In the order of the tasks.
void write_gradebooks(const Gradebooks& books, const std::vector<Task>& tasks, const std::vector<StudentGrade>& grades,
                      const fs::path& out) {
  std::vector<PlatformGrade> known;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].origin) known.push_back({*tasks[i].origin, grades[i]});
  if (books.moodle) write_gradebook(out / "moodle.csv", books.moodle->fill(known));
  if (books.canvas) write_gradebook(out / "canvas.csv", books.canvas->fill(known));
}

int grade_class(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (!fs::is_directory(options.submissions) && !fs::is_regular_file(options.submissions))
    throw UsageError(concat(options.submissions.string(), " is neither a folder nor a zip"));
  if (options.out.empty()) throw UsageError("where should the results go? Give a folder with --out");
  require_apart(options.submissions, out_folder(options));
  const Gradebooks books = read_gradebooks(options);
  const Prepared prepared = prepare(options);
  const Settings& settings = prepared.settings;
  std::vector<std::string> ignored;
  const std::vector<Task> tasks =
      find_submissions(options.submissions, settings_fingerprint(prepared.workspace, settings, prepared.exercises),
                       settings.out / ".scratch" / "received", ignored);
  for (const std::string& name : ignored)
    std::cout << "ignored, not a submission: " << plain_text(name, 300, LineBreaks::kReplace) << "\n";
  const std::vector<StudentGrade> all = grade_tasks(tasks, options, settings);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  write_class_files(settings.out, {all, settings, prepared.protections, seconds});
  remove_scratch(settings);
  write_gradebooks(books, tasks, all, settings.out);
  if (!ignored.empty())
    std::cout << counted(ignored.size(), "file") << " ignored, no submission: named at the beginning\n";
  const auto setups = std::ranges::count(all, "SETUP", &StudentGrade::status);
  std::cout << counted(all.size(), "submission") << " in " << with_digits(seconds, 0)
            << " s: " << (settings.out / "grades.csv").string() << ", class.html\n";
  print_absent(tasks, settings);
  print_repeated(tasks, all);
  if (setups > 0) std::cout << setups << " could not be graded (SETUP); the same command tries them again\n";
  return setups > 0 ? 3 : 0;
}

}  // namespace

int grade(const Arguments& arguments) {
  Options options;
  CommandLine app("Grades a class: every submission is built and run in a sandbox.", "lockstep grade");
  app.add_option("submissions", options.submissions,
                 "A folder with a zip or a folder per student, or the zip of a class from Moodle or Canvas")
      .without_default();
  app.add_option("--out", options.out, "A folder for results").without_default();
  app.add_option("--only", options.only, "Exercises that count, such as 02.1; left out: all").without_default();
  app.add_option("--lab", options.lab, "The exercises of this lab count").check(whole_number(1)).without_default();
  app.add_option("--jobs", options.jobs, "Submissions at a time; left out: one per core")
      .check(whole_number(1))
      .without_default();
  app.add_option("--secret-seed-file", options.secret,
                 "A file with a key, or - for standard input; points then come from inputs that nobody knows")
      .without_default();
  app.add_option("--secret-seed", options.refused_secret, "No longer accepted: use --secret-seed-file")
      .without_default();
  app.add_option("--seeds", options.seeds, "A JSON file with a seed per exercise, instead of a key").without_default();
  app.add_option("--moodle-worksheet", options.moodle_worksheet,
                 "Moodle's grading worksheet; OUT/moodle.csv gets its rows with grades, to import")
      .type_name("FILE")
      .without_default();
  app.add_option("--canvas-gradebook", options.canvas_gradebook,
                 "Canvas' exported gradebook; OUT/canvas.csv gets its rows with grades, to import")
      .type_name("FILE")
      .without_default();
  app.add_option("--canvas-column", options.canvas_column,
                 "The assignment's heading there, \"Lab 1 (12345)\", or the number in it; left out: the only one")
      .type_name("NAME")
      .without_default();
  app.add_option("--patience", options.patience, "How many times longer than usual a program may take")
      .check(real_number(0.1, 100))
      .without_default();
  app.add_flag("--again", options.is_again, "Also grade submissions that are graded already");
  app.add_flag("--any-release", options.takes_any_release, "Grade submissions of another release, too");
  app.add_flag("--reference-counts", options.reference_counts, "Give points for our own solutions, too");
  app.add_flag("--no-sandbox", options.goes_without_sandbox, "Grade even if not all protections are active here");
  app.add_flag("--selftest", options.is_selftest, "Grade solutions, templates and known mistakes instead");
  if (const auto exit_code = app.parse(arguments)) return *exit_code;
  close_inherited_on_exec();
  adopt_orphans();
  return options.is_selftest ? run_selftest(options) : grade_class(options);
}

}  // namespace lockstep::grading
