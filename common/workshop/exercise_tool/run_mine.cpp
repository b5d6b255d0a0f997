// run-mine: trains the GPT of chapter 06, 09, 10 or 11 twice, with our code and with the learner's files.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>

#include "base/counted.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "exercise_tool/build_work.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/loss_chart.hpp"
#include "exercise_tool/loss_log.hpp"
#include "exercise_tool/mine_request.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/watched_training.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

const std::array<std::string, 2> kRing = {"02.1", "02.2"};  // which train only together (exercises/mine/parts.cpp)

std::string variable_for(const Workspace& workspace, const std::vector<const Exercise*>& exercises) {
  std::string text = "LOCKSTEP_MINE=";
  for (const Exercise* const exercise : exercises)
    text += concat(exercise->id, "=", fingerprint(workspace, *exercise), " ");
  return text;
}

// The most recent run in a folder of runs.
fs::path latest_run(const fs::path& folder) {
  fs::path latest;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "options.json") &&
        (latest.empty() ||
         fs::last_write_time(entry.path() / "options.json") > fs::last_write_time(latest / "options.json")))
      latest = entry.path();
  if (latest.empty()) throw Error(concat("there is no run in ", folder.string()));
  return latest;
}

struct Curve {
  std::vector<double> losses;
  double tokens_per_s = 0;  // median
};

Curve read_curve(const fs::path& run) {
  Curve curve;
  std::vector<double> rates;
  for (const LoggedStep& step : read_loss_log(run)) {
    curve.losses.push_back(step.loss);
    rates.push_back(step.tokens_per_s);
  }
  if (curve.losses.empty()) throw Error(concat(run.string(), " has no readable step"));
  std::ranges::nth_element(rates, rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2));
  curve.tokens_per_s = rates[rates.size() / 2];
  return curve;
}

// A run with the learner's files gets at least this long for a step.
constexpr std::chrono::seconds kLeastPatience{60};

TrainingEnd train(const Workspace& workspace, const fs::path& program, const MineRequest& request,
                  const std::string& variable, const fs::path& out, const Arguments& more,
                  std::optional<std::chrono::milliseconds> patience = {}) {
  Arguments command = {"env",         variable,      (workspace.build / "bin" / "lockstep").string(),
                       "launch",      "--no-prefix", "--nproc",
                       request.nproc, "--",          program.string(),
                       "--out",       out.string()};
  command.insert(command.end(), request.options.begin(), request.options.end());
  command.insert(command.end(), more.begin(), more.end());
  std::cout << std::flush;
  return run_watched({.command = command, .folder = workspace.root, .runs = out, .patience = patience});
}

// "work/06.3_bucket_plan/bucket_plan.cpp, ..."
std::string files_of(const Workspace& workspace, const std::vector<const Exercise*>& exercises) {
  std::string files;
  for (const Exercise* const exercise : exercises)
    for (const std::string& file : exercise->files)
      files += concat(files.empty() ? "" : ", ", workspace.shown(workspace.work(*exercise) / file));
  return files;
}

std::chrono::milliseconds patience_after(const TrainingEnd& ours) {
  return std::max<std::chrono::milliseconds>(kLeastPatience,
                                             std::chrono::duration_cast<std::chrono::milliseconds>(ours.duration));
}

void require_trained(const TrainingEnd& ours) {
  if (ours.exit_code == 0) return;
  throw Error(concat("the training run with our code ended with exit status ", ours.exit_code,
                     "; its output is above. Your files had no part in it"));
}

// @param files  The learner's, in this run.
void require_trained(const TrainingEnd& yours, const TrainingEnd& ours, const std::string& files) {
  if (yours.exit_code == 0) return;
  const std::string advice = concat(". Your code in this run: ", files,
                                    ". It has passed its checks, so look for what only training does: other sizes, "
                                    "many steps, several calls. ./lockstep check NUMBER runs one file alone");
  if (yours.has_stood_still)
    throw Error(concat("the training run with your code was ended, because it took no step for ",
                       format_seconds(patience_after(ours)), "; with our code all of them took ",
                       format_seconds(ours.duration), ". A loop does not end, or a rank waits for what none sends; ",
                       "where the ranks were is above", advice));
  throw Error(concat("the training run with your code ended with exit status ", yours.exit_code,
                     "; the rank that failed is named above", advice));
}

std::string compared(const Curve& ours, const Curve& yours) {
  const std::size_t steps = std::min(ours.losses.size(), yours.losses.size());
  double largest = 0;
  std::size_t first = steps;
  for (std::size_t i = 0; i < steps; ++i) {
    const double difference = std::abs(ours.losses[i] - yours.losses[i]);
    const bool are_both_lost = !std::isfinite(ours.losses[i]) && !std::isfinite(yours.losses[i]);
    const bool are_close = difference <= 1e-3 || are_both_lost;  // NaN is not close
    if (!are_close && first == steps) first = i;
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  std::ostringstream text;
  text << std::setprecision(5) << "loss after " << counted(steps, "step") << ": ours " << ours.losses[steps - 1]
       << ", yours " << yours.losses[steps - 1] << "; ";
  if (first == steps) {
    text << "never more than " << std::setprecision(2) << largest << " apart: rounding\n";
  } else {
    text << "apart by more than 0.001 from step " << first + 1 << " on\n";
  }
  text << "tokens per second (median): ours " << std::setprecision(4) << ours.tokens_per_s << ", yours "
       << yours.tokens_per_s << ", " << std::setprecision(3) << yours.tokens_per_s / ours.tokens_per_s
       << " times ours\n";
  return text.str();
}

}  // namespace

std::vector<const Exercise*> passed_exercises(const Workspace& workspace, const MineTrainer& trainer,
                                              std::ostream& remarks) {
  std::vector<const Exercise*> passed;
  std::string usable, changed;
  for (const char* id : trainer.exercises) {
    usable += concat(usable.empty() ? "" : id == kRing.back() ? " with " : ", ", id);
    const Exercise& exercise = find_exercise(workspace.catalogue, id);
    const ExerciseState state = state_of(workspace, exercise);
    if (state == ExerciseState::kPassed) passed.push_back(&exercise);
    if (state == ExerciseState::kChanged || state == ExerciseState::kStarted) changed += concat(" ", id);
  }
  if (!changed.empty())
    remarks << "not used, because these files have not passed as they are now:" << changed
            << "  (./lockstep check NUMBER)\n";
  std::string next = trainer.exercises.front();
  const auto is_of_ring = [](const Exercise* exercise) { return std::ranges::count(kRing, exercise->id) > 0; };
  if (std::ranges::count_if(passed, is_of_ring) == 1) {
    const std::string alone = (*std::ranges::find_if(passed, is_of_ring))->id;
    next = alone == kRing.front() ? kRing.back() : kRing.front();
    remarks << "not used before " << next << " has passed too, because the two make one ring: " << alone << "\n";
    std::erase_if(passed, is_of_ring);
  }
  if (passed.empty())
    throw UsageError(concat("none of your files can train yet: pass one of ", usable,
                            " first, for example ./lockstep start ", next));
  return passed;
}

int run_mine(const Arguments& arguments) {
  const MineRequest request = parse_mine_request(arguments);
  const std::string program(request.trainer.program);
  const Workspace workspace = open_workspace();
  const std::vector<const Exercise*> exercises = passed_exercises(workspace, request.trainer, std::cout);
  build_given(workspace, program);
  build_given(workspace, "lockstep");
  const BuiltProgram built = build_with_learners_files(workspace, program, exercises);
  if (!built.errors.empty()) throw Error(concat("the trainer does not build with your files:\n", built.errors));
  const fs::path runs = workspace.root / "runs" / "mine";

  std::cout << "First run: our code\n\n";
  const TrainingEnd end_of_ours =
      train(workspace, workspace.build / "exercises" / program, request, "LOCKSTEP_MINE=", runs / "ours", {});
  require_trained(end_of_ours);
  const fs::path ours = latest_run(runs / "ours");
  std::cout << "\nSecond run: your code, with the same options and the same seed\n\n";
  const TrainingEnd end_of_yours = train(workspace, built.program, request, variable_for(workspace, exercises),
                                         runs / "yours", {"--compare", ours.string()}, patience_after(end_of_ours));
  require_trained(end_of_yours, end_of_ours, files_of(workspace, exercises));
  const fs::path yours = latest_run(runs / "yours");
  const Curve our_curve = read_curve(ours), your_curve = read_curve(yours);
  std::cout << "\n"
            << loss_chart(our_curve.losses, your_curve.losses) << "\n"
            << compared(our_curve, your_curve) << "both curves: " << workspace.shown(yours / "report.html") << "\n";
  return 0;
}

}  // namespace lockstep::exercise
