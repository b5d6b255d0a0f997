#pragma once
/// @file
/// One run of a judged program: starts its ranks, asks them, watches them until the last has answered, and ends them.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "exercise/finding_text.hpp"
#include "exercise/verdict.hpp"

namespace lockstep::exercise {

struct Subject {
  std::string program;
  std::string source_folder = {};         ///< Its author's folder; stack frames in these files come first.
  SourceFiles sources = {};               ///< Its author's files; only these are quoted.
  std::string mistake = {};               ///< The chosen entry of a bank or of alternatives; otherwise empty.
  std::vector<std::string> sandbox = {};  ///< Prefix that runs a command in a sandbox, with the program at the same
                                          ///< path; empty: none. It must print kSandboxMark first.
  double patience = 1;                    ///< Multiplies all wall-clock limits, for a busy machine.

  /// The program in its sandbox.
  [[nodiscard]] std::vector<std::string> command() const { return wrapped({program}); }
  /// Another command in the same sandbox.
  [[nodiscard]] std::vector<std::string> wrapped(const std::vector<std::string>& command) const;
};

/// The question, and the conditions of the trial.
struct TrialOptions {
  int world_size = 1;                                     ///< In [1, kMostRanks].
  std::function<nlohmann::json(int rank)> question = {};  ///< Values and arrays (to_message()) for each rank.
  std::size_t most_at_once = 0;             ///< The most bytes that a system call of a Link moves; 0: no limit.
  bool has_small_buffers = false;           ///< The kernel buffers as little as it can between ranks.
  int delayed_rank = -1;                    ///< Begins after the others sleep or have ended; -1: none.
  std::chrono::milliseconds budget{4000};   ///< A longer run is SLOW; multiplied by the machine's factor.
  bool counts_messages = false;             ///< A different number of messages counts as different behaviour.
  std::vector<std::string> variables = {};  ///< NAME=value, for the environment.
  /// For a check of several trials: this trial, such as "4 ranks, root 1". Begins the summary of its failure.
  std::string setting = {};
};

/// One rank's result.
struct RankOutcome {
  nlohmann::json answer;                  ///< Values by name; null if it has not answered.
  std::uint64_t bytes_sent = 0;           ///< On its links.
  std::uint64_t messages = 0;             ///< Calls that sent.
  std::string output;                     ///< The last part of its output.
  std::vector<std::string> remarks = {};  ///< Lines for people, sent with the answer.
};

/// All ranks' results, or the failure.
struct Outcome {
  Failure failure = {.verdict = VerdictClass::kPassed};  ///< kPassed: all have answered.
  std::string fingerprint;                               ///< Of a failure; equal for equal behaviour.
  std::vector<RankOutcome> ranks;                        ///< By rank.
  std::size_t answer_bytes = 0;                          ///< Total length of all answers.
};

/// Starts the ranks, asks them, and waits until all have answered, have died, or cannot go on. Leaves no processes.
/// @throws IoError  A process or a connection could not be made: a fault of the judge, not the program.
[[nodiscard]] Outcome run_trial(const Subject& subject, const TrialOptions& options);

/// A program's bank: name, description and advice of each. For a program with alternatives: name and what.
[[nodiscard]] nlohmann::json list_mistakes(const Subject& subject);

}  // namespace lockstep::exercise
