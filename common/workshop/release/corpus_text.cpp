#include "release/corpus_text.hpp"

#include <algorithm>
#include <sstream>

namespace lockstep::release {
namespace {

constexpr std::string_view kMark = "==== ";

bool begins_section(const std::string& line) { return line.starts_with(kMark) && line.ends_with(" ===="); }

std::string without_giveaways(const std::string& text, const Plan& plan) {
  std::istringstream in(text);
  std::string kept;
  bool is_left_out = false;
  for (std::string line; std::getline(in, line);) {
    if (begins_section(line))
      is_left_out = plan.giveaways.contains(line.substr(kMark.size(), line.size() - 2 * kMark.size()));
    if (!is_left_out) kept += line + "\n";
  }
  return kept;
}

std::string without_lines(const std::string& text, const std::vector<Finding>& findings) {
  std::istringstream in(text);
  std::string kept;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const bool is_found = std::ranges::any_of(
        findings, [&](const Finding& each) { return each.first_line <= number && number <= each.last_line; });
    if (!is_found) kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::string rewrite_corpus(const std::string& text, const Plan& plan, const Answers& answers) {
  std::string kept = without_giveaways(text, plan);
  for (auto findings = answers.find_in(kept); !findings.empty(); findings = answers.find_in(kept))
    kept = without_lines(kept, findings);
  return kept;
}

}  // namespace lockstep::release
