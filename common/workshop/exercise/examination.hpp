#pragma once
/// @file
/// The framework for an exercise's judge.cpp: checks in order, each of one or more trials.
///
///     void judge(Examination& exam) {
///       exam.check("three ranks", [&](Check& check) {
///         const Outcome& outcome = check.run({.world_size = 3, .question = inputs});
///         for (int rank = 0; rank < 3; ++rank) check.compare(rank, "sums", outcome, expected(rank));
///       });
///     }
///
/// A check passes when its function returns. It fails by throwing: run() throws if the program did not answer, wrong()
/// and compare() if the answer is wrong.
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

struct CheckFailed {
  Failure failure;
};

/// How compare() compares numbers.
struct Comparison {
  double relative = 0;  ///< A difference of up to relative * |expected| + absolute is accepted.
  double absolute = 0;  ///< See `relative`.
  /// The meaning of a wrong value at an index, such as "rank 2 counted twice"; may be null.
  std::function<std::string(std::size_t index, double got, double expected)> explain = {};
  /// Facts about the whole array. Only used if given: a mistake inferred from the whole array is reported instead of
  /// the element's meaning.
  std::optional<ArrayKnowledge> knowledge = {};
};

/// One check while it runs.
class Check {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// @param subject  The program to try. @param seed  For inputs. @param last_begin  No trial begins later.
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
  /// Calls wrong() unless `holds`.
  void expect(bool holds, const std::string& summary, const std::string& next = "") {
    if (!holds) wrong(summary, next);
  }

  /// The program's behaviour so far, for comparison with another program.
  [[nodiscard]] const std::vector<Outcome>& outcomes() const noexcept { return outcomes_; }

 private:
  const Subject& subject_;
  std::uint64_t seed_;
  Time last_begin_;
  std::vector<Outcome> outcomes_;
  std::size_t answer_bytes_ = 0;  // of all outcomes
};

enum class Thoroughness {
  kQuick,  ///< `check`: stops after the first failure.
  kFull    ///< `check --full`, `grade`: all checks, with those added by full_check().
};

struct CheckResult {
  std::string name;
  double points = 1;                    ///< For passing.
  bool is_full_only = false;            ///< Added by full_check().
  std::optional<Failure> failure = {};  ///< None if it passed.
  double seconds = 0;                   ///< Its duration.
};

/// A mistake of the bank that behaves like the learner's code.
struct LikelyMistake {
  std::string name;         ///< As in the bank.
  std::string description;  ///< Completes "this looks like: ".
  std::string advice;       ///< The one thing to try.
};

/// The checks of one exercise, run in order.
class Examination {
 public:
  using Function = std::function<void(Check&)>;

  /// @param subject  The program to try. @param thoroughness  Which checks. @param seed  For inputs.
  Examination(Subject subject, Thoroughness thoroughness, std::uint64_t seed);

  /// Adds a check. After a failure, later checks run only with kFull. @param name  As in "three ranks, uneven chunks".
  void check(const std::string& name, const Function& function) { add(name, 1, false, function); }
  /// Adds a check with its own share of the points.
  void check(const std::string& name, double points, const Function& function) { add(name, points, false, function); }
  /// Adds a check for `--full` only: fault injection, small buffers, repeats, large sizes.
  void full_check(const std::string& name, const Function& function) { add(name, 1, true, function); }

  /// After this many checks that had to be killed, the others fail without being tried: this bounds the time to grade
  /// any submission. 0: never.
  void give_up_after(int unending) noexcept { most_unending_ = unending; }
  /// Fails all checks that would begin more than `seconds` from now, for the same reason; 0: never.
  void begin_none_after(std::chrono::seconds seconds) noexcept;

  /// Leaves out every check but the one of this name.
  void run_only(const std::string& name) { only_ = name; }
  /// After a check has failed that is not for `--full` only, no other is tried.
  void stop_at_failure() noexcept { stops_at_failure_ = true; }

  /// All checks that were run.
  [[nodiscard]] const std::vector<CheckResult>& results() const noexcept { return results_; }
  /// A failed check, and the program's behaviour in it.
  struct FirstFailure {
    CheckResult result;
    std::vector<Outcome> outcomes;  ///< Of its trials.
  };
  [[nodiscard]] const std::optional<FirstFailure>& first_failure() const noexcept { return first_failure_; }
  /// The first failure among the checks of a quick examination.
  [[nodiscard]] const std::optional<FirstFailure>& first_quick_failure() const noexcept { return first_quick_failure_; }

 private:
  void add(const std::string& name, double points, bool is_full_only, const Function& function);
  // The reason to try no further check; empty if there is none.
  [[nodiscard]] std::string reason_to_skip() const;

  Subject subject_;
  Thoroughness thoroughness_;
  std::uint64_t seed_;
  std::vector<CheckResult> results_;
  std::optional<FirstFailure> first_failure_, first_quick_failure_;
  bool stops_at_failure_ = false;
  std::string only_;  // a check's name; empty: all
  int most_unending_ = 0;
  int unending_ = 0;  // checks so far whose ranks had to be killed
  Check::Time last_begin_ = Check::Time::max();
};

using Judge = void (*)(Examination& exam);

/// The mistakes of the bank that fail the same check in the same way: same answers, same signal, same waits.
/// @param failed  A failed examination. @param bank  The mistakes program. @param judge, seed  As for `failed`.
[[nodiscard]] std::vector<LikelyMistake> likely_mistakes(const Examination& failed, const Subject& bank, Judge judge,
                                                         std::uint64_t seed);

/// The behaviour of one mistake of a bank.
struct BankEntry {
  std::string name;                     ///< As in the bank.
  std::optional<CheckResult> failure;   ///< The first failed check. None: the mistake passes.
  std::vector<std::string> alike = {};  ///< The result that likely_mistakes() would give; includes itself.
};

/// Tries every mistake of a bank up to its first failure, and compares their behaviour.
/// @cost  One examination per mistake; likely_mistakes() for each of them would take the square of that.
[[nodiscard]] std::vector<BankEntry> examine_bank(const Subject& bank, Judge judge, std::uint64_t seed);

// Helpers for judges.

/// How often each rank was counted in a sum to which rank r contributes 8^r: "rank 2 counted twice, rank 3 missing", or
/// "this is the sum, divided by 4"; empty if every rank counts once. @param world_size  At most 8.
[[nodiscard]] std::string explain_sum(double value, int world_size);

/// Numbers that differ from element to element, in [-1, 1). @param stream  Names the array, for example a rank.
[[nodiscard]] std::vector<float> random_floats(std::uint64_t seed, std::uint64_t stream, std::size_t count);

/// Numbers that encode their rank and position: rank r's element i is (r + 1) * 500,000 + i, which a float holds
/// exactly. @param count  At most 500,000.
[[nodiscard]] std::vector<float> position_values(int rank, std::size_t count);

/// The origin of a number from position_values(): "element 3 of rank 2", or "its own element 3" if it is `rank`'s;
/// empty for other numbers. @param rank  The rank whose buffer contained it.
[[nodiscard]] std::string explain_position(double value, int rank);

/// `value` with as many digits as a float has.
[[nodiscard]] std::string shown(double value);

}  // namespace lockstep::exercise
