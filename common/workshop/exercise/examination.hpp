#pragma once
/// @file
/// What an exercise's judge.cpp is written with: checks in order, each of one or more trials.
///
///     void judge(Examination& exam) {
///       exam.check("three ranks", [&](Check& check) {
///         const Outcome& outcome = check.run({.world_size = 3, .question = inputs});
///         for (int rank = 0; rank < 3; ++rank) check.compare(rank, "sums", outcome, expected(rank));
///       });
///     }
///
/// A check passes when its function returns. It fails by throwing: run() throws where the program did not answer,
/// wrong() and compare() where the answer is wrong.
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exercise/array_difference.hpp"
#include "exercise/message.hpp"
#include "exercise/trial.hpp"
#include "exercise/verdict.hpp"

namespace lockstep::exercise {

/// Thrown by checks that fail.
struct CheckFailed {
  Failure failure;  ///< Why.
};

/// How compare() looks at numbers.
struct Comparison {
  double relative = 0;  ///< A difference of up to relative * |expected| + absolute is none.
  double absolute = 0;  ///< As above.
  /// What element i with this value means, such as "rank 2 counted twice"; may be null.
  std::function<std::string(std::size_t index, double got, double expected)> explain = {};
  /// What is known of the whole array. A mistake that it reveals is said in place of what the element means, and only
  /// if `knowledge` is given.
  std::optional<ArrayKnowledge> knowledge = {};
};

/// One check while it runs.
class Check {
 public:
  /// When trials may begin.
  using Time = std::chrono::steady_clock::time_point;

  /// @param subject  What is tried. @param seed  For inputs. @param last_begin  No trial begins later.
  Check(const Subject& subject, std::uint64_t seed, Time last_begin = Time::max())
      : subject_(subject), seed_(seed), last_begin_(last_begin) {}

  /// For inputs that differ from run to run; the same for the learner's code and the bank's.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Runs the ranks. @return  Their answers; valid as long as this check.
  /// @throws CheckFailed  Not every rank has answered.
  const Outcome& run(const TrialOptions& options);

  /// An array of an answer. @throws CheckFailed  There is none of that name and type.
  template <typename T>
  [[nodiscard]] std::vector<T> numbers(const Outcome& outcome, int rank, const std::string& name);
  /// A value of an answer. @throws CheckFailed  There is none of that name and type.
  template <typename T>
  [[nodiscard]] T get(const Outcome& outcome, int rank, const std::string& name);

  /// The first element that differs is the failure.
  /// @param what  How the message names the array: "rank 1's buffer". @throws CheckFailed
  void compare(const std::string& what, std::span<const float> got, std::span<const double> expected,
               const Comparison& comparison = {});
  /// As above. @throws CheckFailed
  void compare(const std::string& what, std::span<const std::int64_t> got, std::span<const std::int64_t> expected);

  /// Ends the check. @param next  One thing to try; may be empty. @param evidence  More lines.
  /// @throws CheckFailed  Always.
  [[noreturn]] void wrong(const std::string& summary, const std::string& next = "",
                          const std::vector<std::string>& evidence = {});
  /// wrong() unless it holds.
  void expect(bool holds, const std::string& summary, const std::string& next = "") {
    if (!holds) wrong(summary, next);
  }

  /// What the program did so far, for comparing one program's behaviour with another's.
  [[nodiscard]] const std::vector<Outcome>& outcomes() const noexcept { return outcomes_; }

 private:
  const Subject& subject_;
  std::uint64_t seed_;
  Time last_begin_;
  std::vector<Outcome> outcomes_;
  std::size_t answer_bytes_ = 0;  // of all outcomes
};

/// Which checks are run.
enum class Thoroughness {
  kQuick,  ///< `check`: up to the first that fails.
  kFull    ///< `check --full`, `grade`: all of them, kFull's own too.
};

/// How a check ended.
struct CheckResult {
  std::string name;                     ///< As given to check().
  double points = 1;                    ///< For passing.
  bool is_full_only = false;            ///< Of full_check().
  std::optional<Failure> failure = {};  ///< None: passed.
  double seconds = 0;                   ///< That it took.
};

/// A mistake of the bank that behaves as the learner's code does.
struct LikelyMistake {
  std::string name;         ///< As in the bank.
  std::string description;  ///< Continues "this looks like: ".
  std::string advice;       ///< The one thing to try.
};

/// The checks of one exercise, run in order.
class Examination {
 public:
  /// What a check does.
  using Function = std::function<void(Check&)>;

  /// @param subject  What is tried. @param thoroughness  Which checks. @param seed  For inputs.
  Examination(Subject subject, Thoroughness thoroughness, std::uint64_t seed);

  /// One check. Once one has failed, others are only run with kFull. @param name  As in "three ranks, uneven chunks".
  void check(const std::string& name, const Function& function) { add(name, 1, false, function); }
  /// A check with its own share of the points.
  void check(const std::string& name, double points, const Function& function) { add(name, points, false, function); }
  /// A check of `--full` only: fault injection, small buffers, repeats, large sizes.
  void full_check(const std::string& name, const Function& function) { add(name, 1, true, function); }

  /// After so many checks that did not end by themselves, all others count as failed without being tried: a class is
  /// graded in time, whatever is handed in. 0: never.
  void give_up_after(int unending) noexcept { most_unending_ = unending; }
  /// The same for all checks that would begin later than `seconds` from now; 0: never.
  void begin_none_after(std::chrono::seconds seconds) noexcept;

  /// Leaves out every check but the one of this name.
  void run_only(const std::string& name) { only_ = name; }
  /// Once a check has failed that is not one of `--full` only, no other is tried.
  void stop_at_failure() noexcept { stops_at_failure_ = true; }

  /// What has been run.
  [[nodiscard]] const std::vector<CheckResult>& results() const noexcept { return results_; }
  /// A check that has failed, and what the program did in it.
  struct FirstFailure {
    CheckResult result;             ///< With its failure.
    std::vector<Outcome> outcomes;  ///< Of its trials.
  };
  /// The first check that failed.
  [[nodiscard]] const std::optional<FirstFailure>& first_failure() const noexcept { return first_failure_; }
  /// The first that failed of those that a quick examination has, too.
  [[nodiscard]] const std::optional<FirstFailure>& first_quick_failure() const noexcept { return first_quick_failure_; }

 private:
  void add(const std::string& name, double points, bool is_full_only, const Function& function);
  // Why no further check is tried; empty: it is.
  [[nodiscard]] std::string reason_to_skip() const;

  Subject subject_;
  Thoroughness thoroughness_;
  std::uint64_t seed_;
  std::vector<CheckResult> results_;
  std::optional<FirstFailure> first_failure_, first_quick_failure_;
  bool stops_at_failure_ = false;
  std::string only_;  // a check's name; empty: all
  int most_unending_ = 0;
  int unending_ = 0;  // checks so far whose ranks had to be ended
  Check::Time last_begin_ = Check::Time::max();
};

/// The judge of one exercise.
using Judge = void (*)(Examination& exam);

/// The mistakes of the bank that fail the same check with the same behaviour: same answers, same signal, same waits.
/// @param failed  An examination that has failed. @param bank  The mistakes program. @param judge, seed  As before.
[[nodiscard]] std::vector<LikelyMistake> likely_mistakes(const Examination& failed, const Subject& bank, Judge judge,
                                                         std::uint64_t seed);

/// What one mistake of a bank does.
struct BankEntry {
  std::string name;                     ///< As in the bank.
  std::optional<CheckResult> failure;   ///< The first check that fails. None: the mistake passes.
  std::vector<std::string> alike = {};  ///< Whom likely_mistakes() would name; itself among them.
};

/// Tries every mistake of a bank up to its first failure, and compares what they do.
/// @cost  An examination of each; likely_mistakes() for each of them would take the square of that.
[[nodiscard]] std::vector<BankEntry> examine_bank(const Subject& bank, Judge judge, std::uint64_t seed);

// Helpers for judges.

/// Who contributed how often to a sum in which rank r's share is 8^r: "rank 2 counted twice, rank 3 missing", or "this
/// is the sum, divided by 4"; empty where every rank counts once. @param world_size  At most 8.
[[nodiscard]] std::string explain_sum(double value, int world_size);

/// Numbers that differ from element to element, in [-1, 1). @param stream  Names the array, for example a rank.
[[nodiscard]] std::vector<float> random_floats(std::uint64_t seed, std::uint64_t stream, std::size_t count);

/// Numbers that say whose they are and where they were: rank r's element i is (r + 1) * 500,000 + i, which a float
/// holds exactly. @param count  At most 500,000.
[[nodiscard]] std::vector<float> position_values(int rank, std::size_t count);

/// Where one of the numbers above comes from: "element 3 of rank 2", or "its own element 3" if that rank has it; empty
/// where it is none of them. @param rank  Whose buffer it was found in.
[[nodiscard]] std::string explain_position(double value, int rank);

/// With as many digits as a float has.
[[nodiscard]] std::string shown(double value);

}  // namespace lockstep::exercise
