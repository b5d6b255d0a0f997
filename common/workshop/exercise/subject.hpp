#pragma once
/// @file
/// The process that runs a learner's code: it receives a question, calls the code, and returns the result. It has
/// neither the right answer nor the list of checks.
///
/// Each exercise has a subject.cpp that defines answer(); the main() that calls it is given.
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exercise/collectives.hpp"
#include "exercise/link.hpp"
#include "exercise/progress_board.hpp"

namespace lockstep::exercise {

/// The judge's question to one rank.
class Question {
 public:
  /// For the subject's main(). @param message  From the judge. @param board  All ranks' board; must outlive this
  /// object.
  Question(const nlohmann::json& message, const ProgressBoard& board);
  ~Question();
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  /// In [0, world_size()).
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// The number of ranks in this trial.
  [[nodiscard]] int world_size() const noexcept { return world_size_; }
  /// The connection to another rank. @throws ContractError  The judge made no such connection.
  [[nodiscard]] Link& link(int peer);
  /// All ranks as a group, for exercises on training. @pre  link() is not used.
  [[nodiscard]] LinkCollectives& collectives();
  /// This rank's entry on the board, for an exercise's own interfaces that wait.
  [[nodiscard]] RankProgress& progress() noexcept { return board_.of(rank_); }

  /// A value in the question. T: int, std::int64_t, std::uint64_t, double, bool, std::string.
  template <typename T>
  [[nodiscard]] T get(const std::string& name) const;
  /// An array in the question. T is float, double or a fixed-width integer.
  template <typename T>
  [[nodiscard]] std::vector<T> numbers(const std::string& name) const;

 private:
  int rank_, world_size_;
  const ProgressBoard& board_;
  std::map<int, Link> links_;
  std::optional<LinkCollectives> collectives_;
  std::unique_ptr<nlohmann::json> values_;
};

/// The result for the judge: named values and arrays.
class Answer {
 public:
  Answer();
  ~Answer();
  Answer(Answer&&) noexcept;             ///< Leaves the other one empty.
  Answer& operator=(Answer&&) noexcept;  ///< Leaves the other one empty.

  /// T as for Question::get().
  template <typename T>
  void set(const std::string& name, const T& value);
  /// T as for Question::numbers().
  template <typename T>
  void set_numbers(const std::string& name, std::span<const T> values);

  /// A line for people, shown if a check of this answer fails. Unlike values, remarks are not compared with those of
  /// the bank's mistakes, so they may name lines of the learner's file.
  void remark(const std::string& line) { remarks_.push_back(line); }

  [[nodiscard]] const nlohmann::json& message() const noexcept { return *values_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  std::unique_ptr<nlohmann::json> values_;
  std::vector<std::string> remarks_;
};

/// Defined by each exercise's subject.cpp: calls the learner's code with the question's inputs. Exceptions pass
/// through: the judge shows them.
[[nodiscard]] Answer answer(Question& question);

/// One entry of an exercise's bank of mistakes.
struct Mistake {
  const char* name;         ///< As file names are written: divides_every_step.
  const char* description;  ///< Completes "this looks like: ".
  const char* advice;       ///< The one thing to try.
};

/// The bank; its first entry has number 1. Defined by mistakes.cpp; empty in learners' programs.
[[nodiscard]] std::span<const Mistake> mistakes() noexcept;

/// For mistakes.cpp: true if the judge asks for this mistake's behaviour.
[[nodiscard]] bool is_mistake(std::string_view name);

}  // namespace lockstep::exercise
