#include "grading/batch.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "grading/process_tree.hpp"
#include "grading/sandbox_user.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kForAnExercise{35};  // two judgings, each repeated once with its own limit, and a build

// What a submission is made of: its archive's bytes, or names and bytes of its files.
std::string content_digest(const fs::path& path) {
  constexpr std::uint64_t kMost = 64 << 20;
  std::string text;
  std::error_code ignored;
  if (!fs::is_directory(path)) return fs::file_size(path) > kMost ? "too large" : sha256_hex(read_file(path));
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path, ignored))
    if (fs::is_regular_file(entry.symlink_status()) && files.size() < 5000) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const std::uintmax_t bytes = fs::file_size(file, ignored);
    text += concat(file.string(), " ", bytes > kMost ? "too large" : sha256_hex(read_file(file)), "\n");
  }
  return sha256_hex(text);
}

// A name that is good in every path.
std::string key_of(const fs::path& submission) {
  std::string key = fs::is_directory(submission) ? submission.filename() : submission.stem();
  if (key.ends_with(".tar")) key.erase(key.size() - 4);
  std::ranges::replace_if(
      key,
      [](char letter) {
        return !((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                 (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.');
      },
      '_');
  return key.starts_with('.') ? "_" + key : key;
}

bool is_archive(const fs::path& path) {
  const std::string name = path.filename();
  return name.ends_with(".zip") || name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz");
}

struct Running {
  Task task;
  int slot = 0;
  Clock::time_point until;
};

class Batch {
 public:
  Batch(const Settings& settings, fs::path settings_file, fs::path program,
        const std::function<void(const StudentGrade&)>& report)
      : settings_(settings), settings_file_(std::move(settings_file)), program_(std::move(program)), report_(report) {}

  // Grades these; returns those whose grade is SETUP.
  std::vector<Task> run(const std::vector<Task>& tasks, int jobs) {
    std::deque<Task> waiting(tasks.begin(), tasks.end());
    while (std::ssize(users_) < jobs) users_.emplace_back();
    std::set<int> free_slots;
    for (int slot = 0; slot < jobs; ++slot) free_slots.insert(slot);
    std::vector<Task> again;
    while (!waiting.empty() || !running_.empty()) {
      while (!waiting.empty() && !free_slots.empty()) {
        start(waiting.front(), *free_slots.begin());
        free_slots.erase(free_slots.begin());
        waiting.pop_front();
      }
      if (const auto ended = wait_for_one()) {
        free_slots.insert(ended->slot);
        const StudentGrade grade = take_grade(ended->task);
        if (grade.status == "SETUP") again.push_back(ended->task);
        grades_[ended->task.key] = grade;
        report_(grade);
      }
    }
    return again;
  }

  [[nodiscard]] const StudentGrade& grade(const std::string& key) const { return grades_.at(key); }

 private:
  void start(const Task& task, int slot) {
    std::error_code ignored;
    fs::remove(settings_.folder_of(task.key) / "grade.json", ignored);
    std::vector<std::string> words = {
        program_.string(), "grade-one",
        "--settings",      settings_file_.string(),
        "--submission",    task.submission.string(),
        "--key",           task.key,
        "--basis",         task.basis,
        "--user",          std::to_string(users_.at(static_cast<std::size_t>(slot)).id())};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, program_.c_str(), nullptr, nullptr, pointers.data(), environ);
    if (error != 0) throw IoError(concat("cannot start ", program_.string()), error);
    const auto exercises = static_cast<int>(settings_.exercises.size());
    running_.emplace(pid, Running{task, slot, Clock::now() + kForAnExercise * std::max(exercises, 1)});
  }

  // Waits for a moment. @return  A process that has ended, or was ended because it took too long.
  std::optional<Running> wait_for_one() {
    ::poll(nullptr, 0, 20);
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (const auto found = running_.find(pid); pid > 0 && found != running_.end()) {
      Running ended = found->second;
      running_.erase(found);
      std::set<pid_t> kept;
      for (const auto& [other, one] : running_) kept.insert(other);
      end_other_children(kept);  // what a process that died has left
      return ended;
    }
    for (const auto& [late, one] : running_)
      if (Clock::now() > one.until) ::kill(late, SIGKILL);
    return std::nullopt;
  }

  [[nodiscard]] StudentGrade take_grade(const Task& task) const {
    if (auto grade = read_student_grade(settings_.folder_of(task.key))) return *grade;
    StudentGrade grade{.key = task.key, .student = task.key, .status = "SETUP", .basis = task.basis};
    grade.problems.emplace_back("SETUP: the process that graded it died");
    write_student_files(settings_.folder_of(task.key), grade);
    return grade;
  }

  const Settings& settings_;
  fs::path settings_file_, program_;
  const std::function<void(const StudentGrade&)>& report_;
  std::map<pid_t, Running> running_;
  std::vector<SandboxUser> users_;  // by slot
  std::map<std::string, StudentGrade> grades_;
};

}  // namespace

std::vector<Task> find_submissions(const fs::path& folder, const std::string& settings_text,
                                   std::vector<std::string>& ignored) {
  std::vector<Task> tasks;
  std::set<std::string> keys;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const fs::file_status status = fs::symlink_status(path);
    if (!fs::is_directory(status) && !(fs::is_regular_file(status) && is_archive(path))) {
      ignored.push_back(path.filename());
      continue;
    }
    std::string key = key_of(path);
    while (!keys.insert(key).second) key += "_";
    tasks.push_back({path, key, sha256_hex(settings_text + content_digest(path))});
  }
  return tasks;
}

std::vector<StudentGrade> grade_all(const std::vector<Task>& tasks, const Settings& settings,
                                    const fs::path& settings_file, const fs::path& program, int jobs,
                                    const std::function<void(const StudentGrade&)>& report) {
  Batch batch(settings, settings_file, program, report);
  const std::vector<Task> again = batch.run(tasks, jobs);
  (void)batch.run(again, 1);
  std::vector<StudentGrade> grades;
  for (const Task& task : tasks) grades.push_back(batch.grade(task.key));
  return grades;
}

}  // namespace lockstep::grading
