// The page for PyTorch users: each line of our code occurs in the file named in its row.
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "table_cells.hpp"

using namespace lockstep;

namespace {

const std::filesystem::path kDocs = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "docs";

// Removes white space, so that a line break in a program does not matter.
std::string squeezed(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

std::vector<std::string> matches(const std::string& text, const char* form) {
  const std::regex regex(form);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex); match != std::sregex_iterator(); ++match)
    found.push_back((*match)[1]);
  return found;
}

}  // namespace

TEST_CASE("each line that the page for PyTorch users shows is in the file that it names", "[course][repository]") {
  std::istringstream page(read_file(kDocs / "pytorch.md"));
  int lines = 0;
  for (std::string row; std::getline(page, row);) {
    const std::vector<checks::Cell> cells = checks::cells_of(row);
    if (!row.starts_with('|') || cells.size() != 3 || cells[1].text == "here" || cells[1].text.starts_with('-'))
      continue;
    const std::vector<std::string> links = matches(cells[2].text, R"(\]\(([^)#]+)\))");
    INFO(row);
    REQUIRE(links.size() == 1);
    if (!links.front().ends_with("pp")) continue;  // a lesson
    const std::string file = squeezed(read_file(kDocs / links.front()));
    for (const std::string& code : matches(cells[1].text, "`([^`]+)`")) {
      CAPTURE(code);
      CHECK(file.find(squeezed(code)) != std::string::npos);
      ++lines;
    }
  }
  CHECK(lines > 40);
}
