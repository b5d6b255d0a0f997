#pragma once
/// @file
/// Explains why a trial failed. Internal to this module.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "exercise/trial_ranks.hpp"
#include "exercise/verdict.hpp"

namespace lockstep::exercise {

/// Explains the failure of a trial's ranks. Call one of explain_...(), once. Texts contain no measured times, so that
/// equal programs get equal feedback.
class FailureExplainer {
 public:
  /// All arguments must outlive this object.
  FailureExplainer(const Subject& subject, const TrialOptions& options, TrialRanks& ranks)
      : subject_(subject), options_(options), ranks_(ranks) {}

  /// At least one rank has ended or thrown without an answer. @throws IoError  The sandbox did not start its program.
  [[nodiscard]] Failure explain_end();
  /// Every rank sleeps. @param quiet  How long nothing may move before it is a hang.
  [[nodiscard]] Failure explain_hang(std::chrono::milliseconds quiet);
  /// Ranks compute, but nothing moves. @param limit  Of processor time.
  [[nodiscard]] Failure explain_loop(std::chrono::milliseconds limit);
  /// Everything moves, but too slowly. @param budget  The time allowed on this machine.
  [[nodiscard]] Failure explain_slow(std::chrono::milliseconds budget);

  /// Of the explained failure; equal for equal behaviour.
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }

 private:
  [[nodiscard]] std::optional<Failure> find_todo();
  [[nodiscard]] std::optional<Failure> find_findings();
  [[nodiscard]] std::optional<Failure> find_crash();
  [[nodiscard]] std::optional<Failure> find_exception();
  [[nodiscard]] Failure describe_end(std::size_t number, const TrialRank& rank);
  void require_started(std::size_t number, const TrialRank& rank) const;
  [[nodiscard]] EndOfProcess end_of(const TrialRank& rank) const;
  [[nodiscard]] std::string who(std::size_t rank) const;
  void add_printed(Failure& failure) const;
  void append_output(Failure& failure, const std::string& output) const;
  [[nodiscard]] std::vector<std::string> stacks();

  const Subject& subject_;
  const TrialOptions& options_;
  TrialRanks& ranks_;
  std::string fingerprint_;
};

}  // namespace lockstep::exercise
