#pragma once
/// @file
/// One run of a judged program: its ranks started, asked, watched until the last has answered, and ended.
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

/// The program that is tried.
struct Subject {
  std::string program;                    ///< Its path.
  std::string source_folder = {};         ///< Where its author's files are: frames of a stack from there come first.
  SourceFiles sources = {};               ///< Its author's files, for quotations: no other file is quoted.
  std::string mistake = {};               ///< Of a program with a bank or with alternatives: which; else empty.
  std::vector<std::string> sandbox = {};  ///< A command that runs the one behind it in a sandbox; empty: none. In it
                                          ///< the program has the same path. It says kSandboxMark first of all.
  double patience = 1;                    ///< Limits on wall time are so many times longer, for a busy machine.

  /// The program in its sandbox.
  [[nodiscard]] std::vector<std::string> command() const { return wrapped({program}); }
  /// Another command in the same sandbox.
  [[nodiscard]] std::vector<std::string> wrapped(const std::vector<std::string>& command) const;
};

/// What is asked, and under which conditions.
struct TrialOptions {
  int world_size = 1;                                     ///< Ranks, in [1, kMostRanks].
  std::function<nlohmann::json(int rank)> question = {};  ///< Values and arrays (to_message()) for each rank.
  std::size_t most_at_once = 0;             ///< The most bytes a system call of a Link moves; 0: no limit.
  bool has_small_buffers = false;           ///< The kernel keeps as few bytes as it can between ranks.
  int delayed_rank = -1;                    ///< Begins when the others sleep or have ended; -1: none.
  std::chrono::milliseconds budget{4000};   ///< Longer is SLOW; grows with the machine's factor.
  bool counts_messages = false;             ///< Programs that send another number of messages behave differently.
  std::vector<std::string> variables = {};  ///< NAME=value, for the environment.
  /// For a check of several trials: which one this is, such as "4 ranks, root 1". Begins the summary of its failure.
  std::string setting = {};
};

/// What one rank did.
struct RankOutcome {
  nlohmann::json answer;                  ///< Values by name; null where it has not answered.
  std::uint64_t bytes_sent = 0;           ///< On its links.
  std::uint64_t messages = 0;             ///< Calls that sent.
  std::string output;                     ///< What it printed, its last part.
  std::vector<std::string> remarks = {};  ///< Lines for people that came with the answer.
};

/// What all ranks did, or why they did not.
struct Outcome {
  Failure failure = {.verdict = VerdictClass::kPassed};  ///< kPassed: all have answered.
  std::string fingerprint;                               ///< Of a failure: equal for equal behaviour.
  std::vector<RankOutcome> ranks;                        ///< By rank.
  std::size_t answer_bytes = 0;                          ///< Length of all answers.
};

/// Starts the ranks, asks them, and waits until all have answered, have died, or cannot go on. No process is left.
/// @throws IoError  A process or a connection could not be made: the judge's trouble, not the program's.
[[nodiscard]] Outcome run_trial(const Subject& subject, const TrialOptions& options);

/// The bank of a program: name, description and advice of each. Of a program with alternatives: name and what.
[[nodiscard]] nlohmann::json list_mistakes(const Subject& subject);

}  // namespace lockstep::exercise
