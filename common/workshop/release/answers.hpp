#pragma once
/// @file
/// Knows the answers of exercises by their tokens, and finds them in other texts.
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exercise/catalogue.hpp"
#include "release/tokens.hpp"

namespace lockstep::release {

/// So many tokens in a row, two to three lines of code, are rarely the same by chance. In the course of November 2026,
/// with 36 exercises, 16 tokens and the names below find the copies, and besides them the launches of two kernels.
inline constexpr std::size_t kWindow = 16;
/// A shorter answer is looked for as a whole; one shorter than this cannot be told from chance.
inline constexpr std::size_t kShortestAnswer = 10;
/// So many different names other than C++'s and CUDA's a window must have: loops over all elements look alike
/// everywhere.
inline constexpr std::size_t kTellingNames = 4;

/// A place where a text has a part of an answer.
struct Finding {
  std::string exercise;        ///< "02.1"
  std::size_t first_line = 1;  ///< In the text, counted from 1.
  std::size_t last_line = 1;   ///< Inclusive.
  std::string words;           ///< The first tokens that are the same.
};

/// Runs of tokens that stand in answers and in nothing that a student is given.
class Answers {
 public:
  /// Learns the regions `// SOLUTION(02.1) ..` to `// END SOLUTION` of a solution's text.
  void add_solution(const std::string& exercise, std::string_view text);
  /// Forgets what stands in a text that students get on purpose: headers, templates, hints. After all solutions.
  void forget_given(const std::string& exercise, std::string_view text);

  /// Parts of answers in a text, in its order; what overlaps is one.
  [[nodiscard]] std::vector<Finding> find_in(std::string_view text) const;

  /// How many runs are known.
  [[nodiscard]] std::size_t size() const { return windows_.size(); }

 private:
  using Window = std::vector<std::string>;
  struct Hit {
    std::size_t begin = 0, size = 0;
    std::string exercise;
  };

  [[nodiscard]] std::vector<Hit> hits_in(const std::vector<Token>& tokens) const;

  std::map<Window, std::set<std::string>> windows_;  // and whose they are
  std::set<std::size_t> sizes_;
};

/// The answers of these exercises, from solutions/ and exercises/ below the project's root.
/// @throws IoError  A solution is missing.
[[nodiscard]] Answers answers_of(const std::filesystem::path& root, const std::vector<exercise::Exercise>& exercises);

}  // namespace lockstep::release
