#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "course/side_by_side.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

int terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 160;
}

// "train_gpt_ddp" for "train_gpt_ddp.cpp".
std::string program_of(const course::DerivedPair& pair) {
  return std::filesystem::path(pair.derived.name).stem().string();
}

// The pairs to show: the named one or, without a name, those that derive from another chapter's program, in the
// lesson's order. Variants of the chapter's own programs are shown only by name.
std::vector<course::DerivedPair> choose(const std::vector<course::DerivedPair>& pairs, const std::string& program) {
  std::vector<course::DerivedPair> chosen;
  std::vector<std::string> names;
  for (const course::DerivedPair& pair : pairs) {
    names.push_back(program_of(pair));
    const bool is_variant =
        std::ranges::any_of(pairs, [&](const auto& other) { return other.derived.name == pair.base.name; });
    if (program.empty() ? !is_variant : names.back() == program) chosen.push_back(pair);
  }
  if (chosen.empty() && !program.empty()) {
    throw UsageError(
        concat("no program ", program, " derives from another in this chapter", did_you_mean(program, names)));
  }
  return chosen;
}

void print_others(const std::vector<course::DerivedPair>& pairs, const std::vector<course::DerivedPair>& shown,
                  const std::string& chapter) {
  for (const course::DerivedPair& pair : pairs) {
    const bool is_shown =
        std::ranges::any_of(shown, [&](const auto& other) { return other.derived.name == pair.derived.name; });
    if (is_shown) continue;
    std::cout << "./lockstep diff " << chapter << " " << program_of(pair) << " shows " << program_of(pair) << " beside "
              << pair.base.name << "\n";
  }
}

}  // namespace

int diff(const Arguments& arguments) {
  std::string chapter, program;
  course::ListingOptions listing{terminal_width(),
                                 isatty(STDOUT_FILENO) == 1 ? course::ColourMode::kAnsi : course::ColourMode::kPlain};
  CommandLine app("Shows the distributed programs of a chapter beside the baselines they derive from", "lockstep diff");
  app.add_option("chapter", chapter, "Its number, such as 06").required();
  app.add_option("program", program, "One of its programs (those that derive from another chapter's if left out)");
  app.add_option("--width", listing.width, "Columns (the terminal's if left out)")
      .check(whole_number(60, 1000))
      .without_default();
  if (const auto done = app.parse(arguments)) return *done;
  const auto pairs = course::derived_pairs_of_chapter(find_project().root, chapter);
  if (pairs.empty()) throw Error(concat("chapter ", chapter, " has no program that derives from another"));
  const auto shown = choose(pairs, program);
  bool is_sound = true;
  for (const course::DerivedPair& pair : shown) {
    std::cout << course::render_side_by_side(pair, listing) << "\n";
    is_sound = is_sound && course::align_derived_file(pair.base, pair.derived, pair.header).problems.empty();
  }
  if (program.empty()) print_others(pairs, shown, chapter);
  return is_sound ? 0 : 1;
}

}  // namespace lockstep::tool
