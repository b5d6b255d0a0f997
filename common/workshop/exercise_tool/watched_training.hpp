#pragma once
/// @file
/// Runs a training program that may never end, as with a learner's file that loops.
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::exercise {

/// A training program to run.
struct WatchedTraining {
  std::vector<std::string> command;  ///< `lockstep launch`, or a program that SIGINT ends.
  std::filesystem::path folder;      ///< Working directory.
  std::filesystem::path runs;        ///< The folder of its --out: a step is a line of a run's metrics.jsonl in it.
  /// The longest time without a step, or before the first one; empty: any.
  std::optional<std::chrono::milliseconds> patience = {};
};

/// How it ended.
struct TrainingEnd {
  int exit_code = 0;             ///< 128 + signal if one ended it.
  bool has_stood_still = false;  ///< It was ended, because it logged no step in WatchedTraining::patience.
  std::chrono::steady_clock::duration duration{};
};

/// Runs a program to its end. If it stands still, it is asked where its ranks are (SIGUSR1, which `lockstep launch`
/// answers on standard error), and ended.
/// @throws IoError  It cannot be started.
[[nodiscard]] TrainingEnd run_watched(const WatchedTraining& training);

}  // namespace lockstep::exercise
