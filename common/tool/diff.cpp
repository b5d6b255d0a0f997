#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.hpp"
#include "course/side_by_side.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

int terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 160;
}

}  // namespace

int diff(const Arguments& arguments) {
  std::string chapter;
  course::ListingOptions listing{terminal_width(),
                                 isatty(STDOUT_FILENO) == 1 ? course::ColourMode::kAnsi : course::ColourMode::kPlain};
  CLI::App app("Shows the distributed programs of a chapter beside the baselines they derive from", "lockstep diff");
  app.add_option("chapter", chapter, "Its number, such as 06")->required();
  app.add_option("--width", listing.width, "Columns (the terminal's if left out)")->check(CLI::Range(60, 1000));
  if (const auto done = parse_arguments(app, arguments)) return *done;
  const auto pairs = course::derived_pairs_of_chapter(find_project().root, chapter);
  if (pairs.empty()) throw Error(concat("chapter ", chapter, " has no program that derives from another"));
  bool is_sound = true;
  for (const course::DerivedPair& pair : pairs) {
    std::cout << course::render_side_by_side(pair, listing) << "\n";
    is_sound = is_sound && course::align_derived_file(pair.base, pair.derived, pair.header).problems.empty();
  }
  return is_sound ? 0 : 1;
}

}  // namespace lockstep::tool
