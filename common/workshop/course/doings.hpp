#pragma once
/// @file
/// What a lesson gives its reader to do, and how many words it takes to get there.
#include <cstddef>
#include <string>
#include <vector>

#include "course/markdown.hpp"

namespace lockstep::course {

/// How a lesson sends its reader to something to do.
enum class DoingKind {
  kExercise,   ///< `./lockstep start 02.1` in the text.
  kCase,       ///< `./lockstep case 06.A` in the text.
  kPanel,      ///< A link to docs/site/panels/NAME.html.
  kPrediction  ///< A question (predictions.hpp).
};

/// One of them, by its name.
struct Doing {
  DoingKind kind = DoingKind::kExercise;
  std::string name;       ///< "02.1", "06.A", the panel's "ring", or the question's "bytes".
  std::size_t index = 0;  ///< Of its line.
};

/// The doings of a lesson in the order of the page. Blocks, and comments other than a question's, hold none.
[[nodiscard]] std::vector<Doing> doings_in(const MarkdownFile& lesson);

/// For each line of a file, the words that its reader sees, folded ones and `code` too. Blocks, comments, tags, and the
/// targets of links do not count.
[[nodiscard]] std::vector<std::size_t> words_by_line(const MarkdownFile& file);

}  // namespace lockstep::course
