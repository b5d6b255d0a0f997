#include "kernels/algorithm_table.hpp"

#include <utility>

#include "base/error.hpp"

namespace lockstep::kernels {

namespace {

constexpr std::string_view kFirstLine = "lockstep matmul algorithms 1";

[[noreturn]] void refuse(const std::string& where, std::string_view problem) {
  throw FormatError(concat(where, ": ", problem, "; train with --matmul-algorithms timed to make a new table"));
}

// Takes the next line off the text. Every line ends in a line feed, so a file that was cut short is noticed.
std::string_view take_line(std::string_view& text, const std::string& where) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) refuse(where, text.empty() ? "the line is missing" : "the line has no end");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

bool is_algorithm(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789abcdef:") == std::string_view::npos;
}

}  // namespace

AlgorithmTable AlgorithmTable::parse(std::string_view text, const std::string& where) {
  const auto at_line = [&](int line) { return concat(where, ", line ", line); };
  const std::string_view first = take_line(text, at_line(1));
  if (first != kFirstLine) refuse(at_line(1), concat("'", first, "' stands where '", kFirstLine, "' must"));
  AlgorithmTable table;
  table.library_ = take_line(text, at_line(2));
  table.library_where_ = at_line(2);
  if (table.library_.empty()) refuse(at_line(2), "the library's name is missing");
  for (int line = 3; !text.empty(); ++line) {
    const std::string_view entry = take_line(text, at_line(line));
    const std::size_t space = entry.find(' ');
    if (space == std::string_view::npos || space + 1 == entry.size() || !is_algorithm(entry.substr(0, space)))
      refuse(at_line(line), concat("'", entry, "' is not an algorithm and a product"));
    const std::string product(entry.substr(space + 1));
    if (table.find(product) != nullptr) refuse(at_line(line), concat("a second algorithm for ", product));
    table.choices_[product] = {std::string(entry.substr(0, space)), at_line(line)};
  }
  return table;
}

std::string AlgorithmTable::text() const {
  std::string text = concat(kFirstLine, "\n", library_, "\n");
  for (const auto& [product, choice] : choices_) text += concat(choice.algorithm, " ", product, "\n");
  return text;
}

const AlgorithmTable::Choice* AlgorithmTable::find(const std::string& product) const {
  const auto found = choices_.find(product);
  return found == choices_.end() ? nullptr : &found->second;
}

void AlgorithmTable::require_library(const std::string& library) const {
  if (library_.empty() || library == library_) return;
  throw FormatError(concat(library_where_.empty() ? "" : library_where_ + ": ", "algorithms of ", library_,
                           " mean nothing to ", library,
                           ", which computes products here; give a table that was made with it, or none"));
}

void AlgorithmTable::set(const std::string& library, const std::string& product, Choice choice) {
  require_library(library);
  library_ = library;
  choices_[product] = std::move(choice);
}

void AlgorithmTable::set_all(const AlgorithmTable& other) {
  if (other.library_.empty()) return;
  require_library(other.library_);
  library_ = other.library_;
  library_where_ = other.library_where_;
  for (const auto& [product, choice] : other.choices_) choices_[product] = choice;
}

}  // namespace lockstep::kernels
