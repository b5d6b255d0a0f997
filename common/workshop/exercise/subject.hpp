#pragma once
/// @file
/// The process that runs a learner's code: it gets a question, calls the code, and sends back what came out. It knows
/// neither the right answer nor what is looked at.
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

/// What the judge asks of one rank.
class Question {
 public:
  /// Of the subject's main(). @param message  The judge's. @param board  Of all ranks; outlives the question.
  Question(const nlohmann::json& message, const ProgressBoard& board);
  ~Question();
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  /// This process's rank, in [0, world_size()).
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// How many ranks were asked together.
  [[nodiscard]] int world_size() const noexcept { return world_size_; }
  /// The connection to another rank. @throws ContractError  The judge has made none.
  [[nodiscard]] Link& link(int peer);
  /// All ranks as a group, for exercises that are about training. @pre  link() is not used.
  [[nodiscard]] LinkCollectives& collectives();
  /// This rank's entry on the board, for interfaces of an exercise's own that wait.
  [[nodiscard]] RankProgress& progress() noexcept { return board_.of(rank_); }

  /// A value that the judge has put into the question. T: int, std::int64_t, std::uint64_t, double, bool, std::string.
  template <typename T>
  [[nodiscard]] T get(const std::string& name) const;
  /// An array that the judge has put into the question. T is float, double or a fixed-width integer.
  template <typename T>
  [[nodiscard]] std::vector<T> numbers(const std::string& name) const;

 private:
  int rank_, world_size_;
  const ProgressBoard& board_;
  std::map<int, Link> links_;
  std::optional<LinkCollectives> collectives_;
  std::unique_ptr<nlohmann::json> values_;
};

/// What came out: named values and arrays, for the judge.
class Answer {
 public:
  Answer();
  ~Answer();
  Answer(Answer&&) noexcept;             ///< The other one is empty afterwards.
  Answer& operator=(Answer&&) noexcept;  ///< The other one is empty afterwards.

  /// T as of Question::get().
  template <typename T>
  void set(const std::string& name, const T& value);
  /// T as of Question::numbers().
  template <typename T>
  void set_numbers(const std::string& name, std::span<const T> values);

  /// A line for people, shown where a check of this answer fails. Unlike values, remarks are not compared with what the
  /// mistakes of the bank answer, so they may name lines of the learner's file.
  void remark(const std::string& line) { remarks_.push_back(line); }

  /// All values.
  [[nodiscard]] const nlohmann::json& message() const noexcept { return *values_; }
  /// All remarks.
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  std::unique_ptr<nlohmann::json> values_;
  std::vector<std::string> remarks_;
};

/// Defined by each exercise's subject.cpp: calls the learner's code with what the question holds.
/// Exceptions pass through: the judge shows them.
[[nodiscard]] Answer answer(Question& question);

/// One entry of an exercise's bank of mistakes.
struct Mistake {
  const char* name;         ///< As file names are written: divides_every_step.
  const char* description;  ///< Continues "this looks like: ".
  const char* advice;       ///< The one thing to try.
};

/// The bank; its first entry has number 1. Defined by mistakes.cpp. In programs of learners it is empty.
[[nodiscard]] std::span<const Mistake> mistakes() noexcept;

/// In mistakes.cpp: whether the judge asks for the behaviour of this mistake.
[[nodiscard]] bool is_mistake(std::string_view name);

}  // namespace lockstep::exercise
