#include "rhythm.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/text.hpp"
#include "course/doings.hpp"
#include "lessons.hpp"

namespace lockstep::checks {
namespace {

namespace fs = std::filesystem;
using course::Doing;

std::size_t sum(std::span<const std::size_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

bool is_exercise_or_case(const Doing& doing) {
  return doing.kind == course::DoingKind::kExercise || doing.kind == course::DoingKind::kCase;
}

// The problem with the words before doings[i]; empty if they are few enough.
std::string too_many_words(const std::vector<Doing>& doings, std::size_t i, std::span<const std::size_t> counts) {
  const std::size_t begin = i == 0 ? 0 : doings[i - 1].index + 1, end = doings[i].index + 1;
  const std::size_t count = end > begin ? sum(counts.subspan(begin, end - begin)) : 0;
  if (i == 0 && count > kWordsBeforeFirst)
    return concat(count, " words before the first doing; at most ", kWordsBeforeFirst);
  if (i > 0 && count > kWordsBetween)
    return concat(count, " words since the doing in line ", begin, "; at most ", kWordsBetween);
  return "";
}

// The problem with the kinds of the doings that end with doings[i]; empty if there is none.
std::string only_watched(std::span<const Doing> doings, std::size_t i) {
  if (i + 1 < kDoingsInARow) return "";
  const std::span<const Doing> row = doings.subspan(i + 1 - kDoingsInARow, kDoingsInARow);
  if (std::ranges::any_of(row, is_exercise_or_case)) return "";
  return concat(kDoingsInARow, " doings in a row, from line ", row.front().index + 1,
                ", without an exercise or a case; at most ", kDoingsInARow - 1);
}

}  // namespace

Problems check_rhythm(const course::MarkdownFile& lesson) {
  const std::vector<Doing> doings = course::doings_in(lesson);
  const std::vector<std::size_t> counts = course::words_by_line(lesson);
  Problems problems;
  for (std::size_t i = 0; i < doings.size(); ++i) {
    for (const std::string& problem : {too_many_words(doings, i, counts), only_watched(doings, i)})
      if (!problem.empty()) problems.push_back(concat(lesson.text.place(doings[i].index), ": ", problem));
  }
  if (doings.empty() && sum(counts) > kWordsBeforeFirst)
    problems.push_back(
        concat(lesson.text.place(0), ": ", sum(counts), " words and nothing to do; at most ", kWordsBeforeFirst));
  return problems;
}

Problems check_rhythms(const fs::path& root) {
  Problems problems;
  for (const course::MarkdownFile& lesson : chapter_lessons(root)) {
    const Problems found = check_rhythm(lesson);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace lockstep::checks
