#include "module_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace lockstep::checks {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;
using Uses = std::map<std::string, Names>;  // module -> the modules that it uses

const std::string kReadme = "common/README.md";

/// Each module's wing, such as "gpu"; modules of common/base have none.
using Wings = std::map<std::string, std::string>;

/// The picture in one wing's README.
struct Picture {
  std::string wing, readme;
  Uses uses;
};

/// The module of a target in common/: its own name or, without an alias (programs, kernels compiled twice), its
/// folder's. Empty outside of common/.
std::string module_of(const Target& target) {
  static const std::string kAlias = "lockstep::";
  if (!target.folder.starts_with("common/")) return "";
  if (target.name.starts_with(kAlias)) return target.name.substr(kAlias.size());
  return fs::path(target.folder).filename().string();
}

/// The modules that `target` uses directly, or through targets that are not modules (lockstep::cuda_runtime).
void collect_uses(const TargetGraph& graph, const Target& target, Names& uses, Names& seen) {
  for (const std::string& name : target.depends()) {
    const auto used = graph.targets.find(name);
    if (used == graph.targets.end() || !seen.insert(name).second) continue;
    const std::string module = module_of(used->second);
    if (module.empty())
      collect_uses(graph, used->second, uses, seen);
    else
      uses.insert(module);
  }
}

/// "ranks" for "common/ranks/net".
std::string wing_of(const std::string& folder) {
  const std::size_t begin = folder.find('/') + 1, end = folder.find('/', begin);
  return end == std::string::npos ? "" : folder.substr(begin, end - begin);
}

Wings wings_of_modules(const TargetGraph& graph) {
  Wings wings;
  for (const auto& [name, target] : graph.targets) {
    const std::string module = module_of(target);
    if (!module.empty()) wings[module] = wing_of(target.folder);
  }
  return wings;
}

std::string readme_of(const std::string& wing) { return concat("common/", wing, "/README.md"); }

Uses uses_of_targets(const TargetGraph& graph) {
  Uses uses;
  for (const auto& [name, target] : graph.targets) {
    const std::string module = module_of(target);
    if (module.empty()) continue;
    Names seen;
    collect_uses(graph, target, uses[module], seen);
    uses[module].erase(module);
  }
  return uses;
}

Names split_names(const std::string& text) {
  static const std::regex kName("[a-z_]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), kName), std::sregex_token_iterator()};
}

/// Adds the arrows of one chain, "a, b -> c -> d".
void read_chain(const std::string& chain, Uses& uses) {
  static const std::regex kArrow(" -> ");
  Names before;
  for (std::sregex_token_iterator stage(chain.begin(), chain.end(), kArrow, -1), end; stage != end; ++stage) {
    const Names names = split_names(*stage);
    for (const std::string& name : names) uses[name].insert(before.begin(), before.end());
    before = names;
  }
}

/// The arrows of the first fenced block. Chains are on separate lines, or two or more spaces apart; remarks in
/// parentheses are ignored.
Uses read_picture(const course::TextFile& readme) {
  static const std::regex kRemark("\\([^)]*\\)");
  static const std::regex kGap(" {2,}");
  Uses uses;
  bool is_inside = false;
  for (const std::string& line : readme.lines) {
    if (line.starts_with("```")) {
      if (is_inside) break;
      is_inside = true;
    } else if (is_inside) {
      const std::string text = std::regex_replace(line, kRemark, "");
      for (std::sregex_token_iterator chain(text.begin(), text.end(), kGap, -1), end; chain != end; ++chain) {
        read_chain(*chain, uses);
      }
    }
  }
  return uses;
}

bool reaches(const Uses& uses, const std::string& from, const std::string& to, Names& seen) {
  const auto found = uses.find(from);
  if (found == uses.end() || !seen.insert(from).second) return false;
  for (const std::string& next : found->second) {
    if (next == to || reaches(uses, next, to, seen)) return true;
  }
  return false;
}

bool reaches(const Uses& uses, const std::string& from, const std::string& to) {
  Names seen;
  return reaches(uses, from, to, seen);
}

std::vector<Picture> read_pictures(const fs::path& root, const Wings& wings) {
  Names names;
  for (const auto& [module, wing] : wings) {
    if (!wing.empty()) names.insert(wing);
  }
  std::vector<Picture> pictures;
  for (const std::string& wing : names)
    pictures.push_back({wing, readme_of(wing), read_picture(read_project_file(root, readme_of(wing)))});
  return pictures;
}

void check_drawn(const Picture& picture, const Uses& real, const Wings& wings, const TargetGraph& graph,
                 Problems& problems) {
  for (const auto& [module, used] : picture.uses) {
    if (graph.is_left_out(concat("common/", picture.wing, "/", module))) continue;
    if (!real.contains(module)) {
      problems.push_back(concat(picture.readme, " shows ", module, ", which is no module"));
    } else if (!used.empty() && wings.at(module) != picture.wing) {
      problems.push_back(concat(picture.readme, " shows what ", module, " uses, which is not in this wing"));
    }
    for (const std::string& name : used) {
      if (!real.contains(module) || !real.contains(name) || reaches(real, module, name)) continue;
      problems.push_back(concat(picture.readme, " shows that ", module, " uses ", name, ", but it does not"));
    }
  }
}

void check_missing(const Uses& drawn, const Uses& real, const Wings& wings, Problems& problems) {
  for (const auto& [module, used] : real) {
    const std::string& wing = wings.at(module);
    if (wing.empty()) continue;
    if (!drawn.contains(module)) problems.push_back(concat(readme_of(wing), " does not show ", module));
    for (const std::string& name : used) {
      if (!drawn.contains(module) || reaches(drawn, module, name)) continue;
      problems.push_back(concat(readme_of(wing), " does not show that ", module, " uses ", name));
    }
  }
}

/// A row of the table: folders in backticks, and their share of all lines.
struct Row {
  std::string place;
  Names folders;
  int percent = 0;
};

std::vector<Row> read_table(const course::TextFile& readme, Problems& problems) {
  static const std::regex kFolder("`([a-z_]+)`");
  static const std::regex kPercent("([0-9]+) %");
  std::vector<Row> rows;
  Names known;
  for (std::size_t index = 0; index < readme.lines.size(); ++index) {
    const std::string& line = readme.lines[index];
    std::smatch percent;
    if (!line.starts_with('|') || !std::regex_search(line, percent, kPercent)) continue;
    Row row{readme.place(index), {}, std::stoi(percent[1])};
    for (std::sregex_iterator match(line.begin(), line.end(), kFolder), end; match != end; ++match) {
      const std::string folder = (*match)[1];
      if (!known.insert(folder).second) problems.push_back(concat(row.place, " names ", folder, " once more"));
      row.folders.insert(folder);
    }
    rows.push_back(row);
  }
  return rows;
}

/// Lines of code by folder of common/.
std::map<std::string, std::size_t> count_lines(const fs::path& root) {
  std::map<std::string, std::size_t> lines;
  for (const std::string& path : select_files(project_files(root), "common", {".hpp", ".cpp", ".h", ".cu", ".cuh"})) {
    const std::string below = path.substr(path.find('/') + 1);
    lines[below.substr(0, below.find('/'))] += read_project_file(root, path).lines.size();
  }
  return lines;
}

void check_table(const fs::path& root, const course::TextFile& readme, Problems& problems) {
  constexpr int kTolerance = 3;
  const std::vector<Row> rows = read_table(readme, problems);
  const std::map<std::string, std::size_t> lines = count_lines(root);
  std::size_t all = 0;
  for (const auto& [folder, count] : lines) {
    all += count;
    const bool is_listed = std::ranges::any_of(rows, [&](const Row& row) { return row.folders.contains(folder); });
    if (!is_listed) problems.push_back(concat(kReadme, " does not say who needs common/", folder));
  }
  for (const Row& row : rows) {
    std::size_t count = 0;
    for (const std::string& folder : row.folders) {
      if (!lines.contains(folder)) problems.push_back(concat(row.place, " names ", folder, ", which is no module"));
      if (lines.contains(folder)) count += lines.at(folder);
    }
    const int percent = static_cast<int>(std::lround(100.0 * static_cast<double>(count) / static_cast<double>(all)));
    if (std::abs(percent - row.percent) > kTolerance) {
      problems.push_back(concat(row.place, " says ", row.percent, " %, but its modules are ", percent, " %"));
    }
  }
}

}  // namespace

Problems check_module_picture(const fs::path& root, const TargetGraph& graph) {
  const Uses real = uses_of_targets(graph);
  const Wings wings = wings_of_modules(graph);
  Problems problems;
  Uses drawn;
  for (const Picture& picture : read_pictures(root, wings)) {
    check_drawn(picture, real, wings, graph, problems);
    for (const auto& [module, used] : picture.uses) drawn[module].insert(used.begin(), used.end());
  }
  check_missing(drawn, real, wings, problems);
  check_table(root, read_project_file(root, kReadme), problems);
  return problems;
}

}  // namespace lockstep::checks
