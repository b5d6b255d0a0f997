#include "release/answers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/file.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "// SOLUTION(";
constexpr std::string_view kEnd = "// END SOLUTION";

// Names that reveal nothing about code: those of C++ and CUDA, and common members of containers.
const std::set<std::string, std::less<>> kCommonNames = {
    "auto",       "begin",        "bool",        "break",    "byte",     "case",      "catch",      "char",
    "class",      "const",        "constexpr",   "continue", "data",     "default",   "double",     "else",
    "end",        "enum",         "explicit",    "false",    "float",    "for",       "int",        "int32_t",
    "int64_t",    "long",         "namespace",   "new",      "noexcept", "nullptr",   "operator",   "override",
    "private",    "public",       "push_back",   "return",   "short",    "signed",    "size",       "size_t",
    "sizeof",     "static",       "static_cast", "struct",   "switch",   "template",  "this",       "throw",
    "true",       "try",          "typename",    "uint32_t", "uint64_t", "unsigned",  "using",      "void",
    "while",      "ptrdiff_t",    "blockIdx",    "blockDim", "gridDim",  "threadIdx", "__device__", "__global__",
    "__shared__", "__syncthreads"};

std::size_t telling_names_in(std::span<const std::string> window) {
  std::set<std::string> names;
  bool is_of_std = false;  // this token is part of std::a::b
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::string& text = window[i];
    if (text == "::") continue;
    const bool follows = i > 0 && window[i - 1] == "::";
    is_of_std = text == "std" || (follows && is_of_std);
    const bool is_name = text.size() > 2 && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_');
    if (is_name && !is_of_std && !kCommonNames.contains(text)) names.insert(text);
  }
  return names.size();
}

std::vector<std::string> texts_of(const std::vector<Token>& tokens) {
  std::vector<std::string> texts;
  texts.reserve(tokens.size());
  for (const Token& token : tokens) texts.push_back(token.text);
  return texts;
}

// The texts between the marks.
std::vector<std::string_view> regions_of(std::string_view text) {
  std::vector<std::string_view> regions;
  for (std::size_t at = 0; (at = text.find(kBegin, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.size(), text.find(kEnd, at));
    regions.push_back(text.substr(at, end - at));
    at = end;
  }
  return regions;
}

}  // namespace

void Answers::add_solution(const std::string& exercise, std::string_view text) {
  for (const std::string_view region : regions_of(text)) {
    const std::vector<std::string> words = texts_of(tokens_of(region));
    const std::size_t size = std::min(kWindow, words.size());
    if (size < kShortestAnswer) continue;
    for (std::size_t i = 0; i + size <= words.size(); ++i) {
      const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i);
      const Window window(begin, begin + static_cast<std::ptrdiff_t>(size));
      if (telling_names_in(window) < kTellingNames) continue;
      windows_[window].insert(exercise);
      sizes_.insert(size);
    }
  }
}

std::vector<Answers::Hit> Answers::hits_in(const std::vector<Token>& tokens) const {
  std::vector<Hit> hits;
  const std::vector<std::string> words = texts_of(tokens);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::size_t size : sizes_) {
      if (i + size > words.size()) break;
      const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i);
      const auto found = windows_.find(Window(begin, begin + static_cast<std::ptrdiff_t>(size)));
      if (found == windows_.end()) continue;
      for (const std::string& exercise : found->second) hits.push_back({i, size, exercise});
    }
  }
  return hits;
}

void Answers::forget_given(const std::string& exercise, std::string_view text) {
  const std::vector<Token> tokens = tokens_of(text);
  const std::vector<std::string> words = texts_of(tokens);
  for (const Hit& hit : hits_in(tokens)) {
    if (hit.exercise != exercise) continue;
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(hit.begin);
    const auto found = windows_.find(Window(begin, begin + static_cast<std::ptrdiff_t>(hit.size)));
    found->second.erase(exercise);
    if (found->second.empty()) windows_.erase(found);
  }
}

std::vector<Finding> Answers::find_in(std::string_view text) const {
  const std::vector<Token> tokens = tokens_of(text);
  std::vector<Finding> findings;
  std::map<std::string, std::size_t> open;  // by exercise: the finding that the next hit may extend
  for (const Hit& hit : hits_in(tokens)) {
    const std::size_t first = tokens[hit.begin].line, last = tokens[hit.begin + hit.size - 1].line;
    const auto known = open.find(hit.exercise);
    if (known != open.end() && findings[known->second].last_line >= first) {
      findings[known->second].last_line = std::max(findings[known->second].last_line, last);
      continue;
    }
    std::string words;
    for (std::size_t i = hit.begin; i < hit.begin + hit.size; ++i) words += (words.empty() ? "" : " ") + tokens[i].text;
    open[hit.exercise] = findings.size();
    findings.push_back({hit.exercise, first, last, words});
  }
  return findings;
}

Answers answers_of(const fs::path& root, const std::vector<exercise::Exercise>& exercises) {
  Answers answers;
  for (const exercise::Exercise& exercise : exercises)
    for (const std::string& file : exercise.files)
      answers.add_solution(exercise.id, read_file(exercise.in(root / "solutions") / file));
  for (const exercise::Exercise& exercise : exercises)
    for (const fs::directory_entry& given : fs::directory_iterator(exercise.in(root / "exercises")))
      if (given.is_regular_file()) answers.forget_given(exercise.id, read_file(given.path()));
  return answers;
}

}  // namespace lockstep::release
