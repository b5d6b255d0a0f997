#include "grading/batch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/process.hpp"
#include "grading/process_tree.hpp"
#include "grading/sandbox_user.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kForAnExercise{35};  // two judgings, each with one repeat and its own limit, and a build

struct Running {
  Task task;
  int slot = 0;
  Clock::time_point until;
  int exit_code = 0;  // once it has ended; 128 + signal
};

// For grade-one: what is known of a submission besides its files, as JSON.
std::string received_text(const Task& task) {
  nlohmann::json received = {{"notes", task.notes}};
  if (task.origin) received["student"] = task.origin->student;
  if (task.origin && task.origin->hides_student()) received["hides_student"] = true;
  return dump_json(received, kOneLine, BadUtf8::kReplace);  // names of files, of any encoding
}

class Batch {
 public:
  Batch(const Settings& settings, fs::path settings_file, fs::path program,
        const std::function<void(const StudentGrade&)>& report)
      : settings_(settings), settings_file_(std::move(settings_file)), program_(std::move(program)), report_(report) {}

  // Grades these; returns those with grade SETUP.
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
        const StudentGrade grade = take_grade(*ended);
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
    std::vector<std::string> words = {program_.string(), "grade-one",
                                      "--settings",      settings_file_.string(),
                                      "--submission",    task.submission.string(),
                                      "--key",           task.key,
                                      "--basis",         task.basis,
                                      "--user",          std::to_string(users_.at(static_cast<std::size_t>(slot)).id()),
                                      "--received",      received_text(task)};
    const pid_t pid = start_process({.command = words});
    const auto exercises = static_cast<int>(settings_.exercises.size());
    running_.emplace(pid, Running{task, slot, Clock::now() + kForAnExercise * std::max(exercises, 1), 0});
  }

  // Waits briefly. @return  A process that has ended, or that was killed because it took too long.
  std::optional<Running> wait_for_one() {
    ::poll(nullptr, 0, 20);
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (const auto found = running_.find(pid); pid > 0 && found != running_.end()) {
      Running ended = found->second;
      ended.exit_code = exit_code_of(status);
      running_.erase(found);
      std::set<pid_t> kept;
      for (const auto& [other, one] : running_) kept.insert(other);
      end_other_children(kept);  // processes left by one that died
      return ended;
    }
    for (const auto& [late, one] : running_)
      if (Clock::now() > one.until) ::kill(late, SIGKILL);
    return std::nullopt;
  }

  // The grade in grade.json, if the process has written it. Nothing else that a submission did decides whether it
  // counts as graded.
  [[nodiscard]] StudentGrade take_grade(const Running& ended) const {
    const Task& task = ended.task;
    if (auto grade = read_student_grade(settings_.folder_of(task.key)); grade && ended.exit_code == 0) return *grade;
    StudentGrade grade{.key = task.key,
                       .student = task.origin ? task.origin->student : task.key,
                       .status = "SETUP",
                       .problems = task.notes,
                       .basis = task.basis};
    grade.problems.push_back(
        concat("SETUP: the process that graded it ended with status ", ended.exit_code, "; what it printed says more"));
    try {
      write_student_files(settings_.folder_of(task.key), grade);
    } catch (const std::exception& error) {
      std::cerr << "lockstep: " << task.key << ": " << error.what() << "; the others are graded all the same\n";
    }
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
