#include "grading/release.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise_tool/shell.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& what) {
  throw FormatError(
      concat("the file ", kReleaseFile, " ", what, "; take it back as it was: git checkout -- ", kReleaseFile));
}

// The value of the only line "name: value".
std::string value_of(std::string_view text, const std::string& name) {
  std::optional<std::string> value;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + ":")) continue;
    if (value) refuse(concat("has more than one line \"", name, ": ...\""));
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    const std::size_t end = line.find_last_not_of(" \t\r");
    value = begin <= end ? line.substr(begin, end - begin + 1) : "";
  }
  if (!value) refuse(concat("has no line \"", name, ": ...\""));
  return *value;
}

// True for a possible name of a release's tag: printable, one word.
bool names_release(const std::string& tag) {
  return tag.starts_with(kReleaseTag) && tag.size() > kReleaseTag.size() &&
         std::ranges::all_of(tag, [](char letter) { return letter > ' ' && letter <= '~'; });
}

bool is_hash(const std::string& commit) {
  return commit.size() >= 7 && commit.size() <= 64 && commit.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The first line of git's output, without its warnings; `otherwise` if it fails.
std::string git(const fs::path& root, std::vector<std::string> words, const std::string& otherwise) {
  words.insert(words.begin(), {"git", "-C", root.string(), "-c", concat("safe.directory=", root.string())});
  try {
    const FinishedProcess finished = exercise::run(words, root, Collect::kSeparate);
    const std::string line = finished.output.substr(0, finished.output.find('\n'));
    return finished.exit_code == 0 && !line.empty() ? line : otherwise;
  } catch (const IoError&) {
    return otherwise;  // git is not installed
  }
}

}  // namespace

Release parse_release(std::string_view text) {
  Release release{value_of(text, "release"), value_of(text, "commit")};
  if (!names_release(release.tag))
    refuse(concat("says \"release: ", release.tag, "\", which is not a word that begins with ", kReleaseTag));
  if (!is_hash(release.commit))
    refuse(concat("says \"commit: ", release.commit, "\", which is not a commit's hash of 7 to 64 hexadecimal digits"));
  return release;
}

Release release_of(const fs::path& root) {
  if (fs::exists(root / kReleaseFile)) return parse_release(read_file(root / kReleaseFile));
  return {git(root, {"describe", "--tags", concat("--match=", kReleaseTag, "*"), "--abbrev=0"}, "untagged"),
          git(root, {"rev-parse", "HEAD"}, "unknown")};
}

}  // namespace lockstep::grading
