#include "words.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "course/markdown.hpp"
#include "cpp_functions.hpp"

namespace lockstep::checks {
namespace {

bool is_letter(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_'; }
bool is_blank(char character) { return std::isspace(static_cast<unsigned char>(character)) != 0; }

/// The text for people in a file: blocks of words with single blanks, separated by line breaks.
class Prose {
 public:
  explicit Prose(const course::TextFile& file) : file_(file) {
    if (file.name.ends_with(".md"))
      read_markdown();
    else
      read_code();
  }

  /// Line indices of a habit's findings, with the words around each.
  [[nodiscard]] std::map<std::size_t, std::string> find(const Habit& habit) const {
    std::map<std::size_t, std::string> found;
    for (const std::string_view phrase : habit.phrases) {
      for (std::size_t at = lower_.find(phrase); at != std::string::npos; at = lower_.find(phrase, at + 1)) {
        if (!is_whole(at, phrase.size()) || (habit.begins_sentence && !begins_statement(at))) continue;
        found.try_emplace(lines_[at], words_around(at));
      }
    }
    return found;
  }

 private:
  void read_markdown() {
    const std::vector<std::string> prose = course::parse_markdown(file_).prose;
    for (std::size_t index = 0; index < prose.size(); ++index) {
      const std::string_view line = course::trim(prose[index]);
      if (line.empty() || line.front() == '|' || line.front() == '-' || line.front() == '#') begin_block(index);
      add(line, index);
    }
  }

  void read_code() {
    const std::vector<std::string> code = course::split_lines(code_only(file_));
    bool is_open = false;  // the next line may go on with a comment or literal
    for (std::size_t index = 0; index < file_.lines.size(); ++index) {
      const std::string& line = file_.lines[index];
      if (course::trim(line).starts_with('#')) continue;
      std::string prose = line;
      bool has_code = false;
      for (std::size_t at = 0; at < line.size() && at < code[index].size(); ++at) {
        if (code[index][at] != line[at]) continue;
        prose[at] = ' ';
        has_code = has_code || is_letter(line[at]);
      }
      if (has_code || !is_open || course::trim(prose).empty()) begin_block(index);
      is_open = !has_code || prose.find("//") != std::string::npos || course::trim(line).ends_with('"');
      add(prose, index);
    }
  }

  void begin_block(std::size_t line) {
    if (!text_.empty() && text_.back() == ' ') text_.back() = lower_.back() = '\n';
    if (text_.empty() || text_.back() == '\n') return;
    text_ += '\n';
    lower_ += '\n';
    lines_.push_back(line);
  }

  /// Adds words of a line, without the marks of comments.
  void add(std::string_view words, std::size_t line) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      const bool is_mark = words.substr(at).starts_with("//") || (at > 0 && words[at - 1] == '/' && words[at] == '/') ||
                           (at > 1 && words.substr(at - 2).starts_with("//<"));
      put(is_mark ? ' ' : words[at], line);
    }
    put(' ', line);
  }

  void put(char character, std::size_t line) {
    if (is_blank(character) && (text_.empty() || is_blank(text_.back()))) return;
    text_ += is_blank(character) ? ' ' : character;
    lower_ += static_cast<char>(std::tolower(static_cast<unsigned char>(text_.back())));
    lines_.push_back(line);
  }

  [[nodiscard]] bool is_whole(std::size_t at, std::size_t length) const {
    const std::size_t end = at + length;
    return (at == 0 || !is_letter(text_[at - 1])) && (end == text_.size() || !is_letter(text_[end]));
  }

  [[nodiscard]] bool begins_statement(std::size_t at) const {
    if (std::isupper(static_cast<unsigned char>(text_[at])) == 0) return false;
    const bool begins = at == 0 || text_[at - 1] == '\n' || (at > 1 && text_[at - 2] == '.');
    const std::size_t end = text_.find_first_of(".?\n", at);
    return begins && (end == std::string::npos || text_[end] != '?');
  }

  [[nodiscard]] std::string words_around(std::size_t at) const {
    constexpr std::size_t kBefore = 30, kAfter = 60;
    const std::size_t block = text_.rfind('\n', at) + 1, begin = std::max(block, at - std::min(at, kBefore));
    const std::size_t end = std::min(text_.find('\n', at), at + kAfter);
    return std::string(course::trim(std::string_view(text_).substr(begin, end - begin)));
  }

  const course::TextFile& file_;
  std::string text_, lower_;
  std::vector<std::size_t> lines_;  // of each character
};

void append_findings(const course::TextFile& file, const Prose& prose, const Habit& habit, Problems& findings) {
  for (const auto& [line, words] : prose.find(habit)) findings.push_back(concat(file.place(line), ": ", words));
}

}  // namespace

const std::vector<Habit>& counted_habits() {
  static const std::vector<Habit> kHabits = {
      {.name = "\"where\" for a condition",
       .phrases = {"nothing where",    "empty where",     "null where",     "false where",     "true where",
                   "infinity where",   "infinite where",  "zeros where",    "0 where",         "1 where",
                   "only where",       "also where",      "except where",   "even where",      "skipped where",
                   "throws where",     "fails where",     "where there is", "where there are", "where it is not",
                   "where it can",     "where it cannot", "where it does",  "where they do",   "where that is",
                   "where that fails", "where this is",   "where no",       "where none",      "where nothing",
                   "where one is",     "where any"},
       .better = "if",
       .limit = 7},
      {.name = "a sentence with \"what\" as its subject",
       .phrases = {"what"},
       .begins_sentence = true,
       .better = "name the thing, or make it the object",
       .limit = 31},
      {.name = "\"behind\" for order",
       .phrases = {"behind the point", "behind the last", "behind the first", "behind the end", "behind its end",
                   "behind each", "behind the other", "behind another", "behind it", "behind that"},
       .better = "after, past",
       .limit = 12},
      {.name = "\"shall\"", .phrases = {"shall"}, .better = "should, must, or the present tense", .limit = 0},
      {.name = "words that nobody says",
       .phrases = {"that which", "whoever", "for ever", "the own", "an own", "trainings", "rightly", "goes well",
                   "at the begin", "the begin of", "so many times", "not for others", "what is over",
                   "is no consequence"},
       .better = "the usual word",
       .limit = 10},
  };
  return kHabits;
}

Problems find_habit(const course::TextFile& file, const Habit& habit) {
  Problems findings;
  append_findings(file, Prose(file), habit, findings);
  return findings;
}

Problems check_words(const std::filesystem::path& root, const std::vector<Habit>& habits) {
  std::vector<Problems> findings(habits.size());
  const std::vector<std::string> paths = select_files(project_files(root), "", {".hpp", ".cpp", ".cu", ".cuh", ".md"});
  for (const std::string& path : paths) {
    if (path.starts_with("tests/workshop/course/words")) continue;  // they name the habits
    const course::TextFile file = read_project_file(root, path);
    const Prose prose(file);
    for (std::size_t i = 0; i < habits.size(); ++i) append_findings(file, prose, habits[i], findings[i]);
  }
  Problems problems;
  for (std::size_t i = 0; i < habits.size(); ++i) {
    if (findings[i].size() <= habits[i].limit) continue;
    std::string problem = concat(habits[i].name, ": ", findings[i].size(), " times, at most ", habits[i].limit,
                                 "; better: ", habits[i].better);
    for (const std::string& finding : findings[i]) problem += "\n  " + finding;
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace lockstep::checks
