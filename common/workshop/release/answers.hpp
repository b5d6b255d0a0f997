#pragma once
/// @file
/// Fingerprints the answers of exercises by their tokens, and finds them in other texts.
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

/// This many tokens in a row, two to three lines of code, rarely coincide by chance. In the course of November 2026,
/// with 36 exercises, 16 tokens and the names below find the copies and, falsely, the launches of two kernels.
inline constexpr std::size_t kWindow = 16;
/// A shorter answer is searched for as a whole; one shorter than this cannot be told from chance.
inline constexpr std::size_t kShortestAnswer = 10;
/// A window must contain this many names other than those of C++ and CUDA: loops over all elements look alike.
inline constexpr std::size_t kTellingNames = 4;

/// A part of an answer in a text.
struct Finding {
  std::string exercise;        ///< "02.1"
  std::size_t first_line = 1;  ///< Counted from 1.
  std::size_t last_line = 1;   ///< Inclusive.
  std::string words;           ///< The first matching tokens.
};

/// Runs of tokens that occur in answers and in no file given to students.
class Answers {
 public:
  /// Adds the regions from `// SOLUTION(02.1) ..` to `// END SOLUTION` of a solution's text.
  void add_solution(const std::string& exercise, std::string_view text);
  /// Removes runs in a text that students get on purpose: headers, templates, hints. Call after all add_solution().
  void forget_given(const std::string& exercise, std::string_view text);

  /// Parts of answers in a text, in text order; overlapping ones are merged.
  [[nodiscard]] std::vector<Finding> find_in(std::string_view text) const;

  /// The number of runs.
  [[nodiscard]] std::size_t size() const { return windows_.size(); }

 private:
  using Window = std::vector<std::string>;
  struct Hit {
    std::size_t begin = 0, size = 0;
    std::string exercise;
  };

  [[nodiscard]] std::vector<Hit> hits_in(const std::vector<Token>& tokens) const;

  std::map<Window, std::set<std::string>> windows_;  // with their exercises
  std::set<std::size_t> sizes_;
};

/// The answers of these exercises, from solutions/ and exercises/ below the project's root.
/// @throws IoError  A solution is missing.
[[nodiscard]] Answers answers_of(const std::filesystem::path& root, const std::vector<exercise::Exercise>& exercises);

}  // namespace lockstep::release
