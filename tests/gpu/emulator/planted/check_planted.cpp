// check_planted SOURCE PROGRAM [NAME]: `PROGRAM name` runs what SOURCE (name.cu) became, in checked mode with three
// orders of threads; compares what it reports with the markers of its source:
//   `// BUG: class`   a finding of this class must name this line
//   `// ALSO: class`  such a finding may come as well, as a consequence (`// BUG: race, ALSO: class` is both)
// Any other finding is an error, but for one without a place: the fault that follows a reported access. A source
// without markers must stay silent and end with 0. If SOURCE holds several programs, NAME is one of them: the lines
// from
// `// program: NAME` to the next such line.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "support/subprocess.hpp"

namespace {

using lockstep::concat;

struct Marker {
  std::string kind;
  std::size_t line = 0;
  bool is_bug = true;  // else a consequence that is allowed
};

struct Reported {
  std::string text;
  std::string kind;
  std::vector<std::size_t> lines;  // of the source
};

// @param name  Of the program, or empty for all lines.
std::vector<Marker> read_markers(const std::string& source, const std::string& name) {
  const std::string begin_of_program = "// program: ";
  std::vector<Marker> markers;
  std::istringstream lines(source);
  std::string line;
  bool is_inside = name.empty();
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with(begin_of_program)) is_inside = line == begin_of_program + name;
    if (!is_inside) continue;
    const std::size_t comment = line.find("// ");
    for (const std::string word : {"BUG: ", "ALSO: "}) {
      const std::size_t at = comment == std::string::npos ? comment : line.find(word, comment);
      if (at == std::string::npos) continue;
      const std::size_t begin = at + word.size();
      markers.push_back({line.substr(begin, line.find(',', begin) - begin), number, word == "BUG: "});
    }
  }
  return markers;
}

// Adds the lines of `file` that `text` names.
void add_lines(const std::string& text, const std::string& file, std::vector<std::size_t>& lines) {
  const std::string mark = file + ":";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    lines.push_back(std::strtoul(text.c_str() + at + mark.size(), nullptr, 10));
  }
}

// Reports look like this, with the second line only if two places are in conflict:
//   emulated CUDA: race in kernel k: read at a.cu:5 by thread (0,0,0) of block (0,0,0)
//     and write at a.cu:4 by ...: shared memory 'tile', byte 4; nothing orders the two.
std::vector<Reported> read_reports(const std::string& errors, const std::string& file) {
  const std::string start = "emulated CUDA: ";
  std::vector<Reported> reported;
  std::istringstream lines(errors);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with(start) && line.find(" at ") != std::string::npos) {
      const std::size_t end = std::min(line.find(" in kernel "), line.find(": ", start.size()));
      reported.push_back({line, line.substr(start.size(), end - start.size()), {}});
      add_lines(line, file, reported.back().lines);
    } else if (line.starts_with("  and ") && !reported.empty()) {
      add_lines(line, file, reported.back().lines);
    }
  }
  return reported;
}

bool fits(const Marker& marker, const Reported& reported) {
  return marker.kind == reported.kind && std::ranges::find(reported.lines, marker.line) != reported.lines.end();
}

// Empty if reports and markers agree.
std::string disagreement(const std::vector<Marker>& markers, const std::vector<Reported>& reported) {
  const bool has_bug = std::ranges::any_of(markers, &Marker::is_bug);
  const bool is_found = std::ranges::any_of(reported, [&](const Reported& each) {
    return std::ranges::any_of(markers, [&](const Marker& marker) { return marker.is_bug && fits(marker, each); });
  });
  if (has_bug && !is_found) return "the bug is not reported at a marked line";
  for (const Reported& each : reported) {
    const bool is_fault = has_bug && each.text.find("at an unknown place") != std::string::npos;
    if (!is_fault && std::ranges::none_of(markers, [&](const Marker& marker) { return fits(marker, each); })) {
      return concat("this is no marked bug: ", each.text);
    }
  }
  return "";
}

int check(const std::string& source, const std::string& program, const std::string& part) {
  const std::vector<Marker> markers = read_markers(lockstep::read_file(source), part);
  const std::filesystem::path path = source;
  const std::string name = path.filename().string();
  for (const std::string seed : {"0", "1", "7"}) {
    const auto finished =
        lockstep::test::run_program({program, part.empty() ? path.stem().string() : part},
                                    {{"LOCKSTEP_EMULATOR_CHECK", "1"}, {"LOCKSTEP_EMULATOR_SEED", seed}});
    std::string problem = disagreement(markers, read_reports(finished.err, name));
    const bool is_right = finished.exit_code == 0 && finished.err.empty();
    if (problem.empty() && markers.empty() && !is_right) problem = "a correct program is not silent";
    if (problem.empty() && !markers.empty() && finished.exit_code == 0) problem = "its exit code is 0";
    if (problem.empty()) continue;
    std::cerr << name << ", seed " << seed << ": " << problem << "\nexit code " << finished.exit_code << "\n"
              << finished.out << finished.err;
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::run_guarded("check_planted", [&] {
    if (argc != 3 && argc != 4) throw lockstep::UsageError("check_planted SOURCE PROGRAM [NAME]");
    return check(argv[1], argv[2], argc == 4 ? argv[3] : "");
  });
}
