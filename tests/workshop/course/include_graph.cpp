#include "include_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;

struct OutsideLibrary {
  std::string_view include_prefix;
  std::string_view target;
};
constexpr std::array<OutsideLibrary, 14> kOutside = {{{"Eigen/", "Eigen3::Eigen"},
                                                      {"nlohmann/", "nlohmann_json::nlohmann_json"},
                                                      {"CLI/", "CLI11::CLI11"},
                                                      {"openssl/", "OpenSSL::Crypto"},
                                                      {"xxhash.h", "lockstep::xxhash"},
                                                      {"seccomp.h", "lockstep::seccomp"},
                                                      {"sentencepiece_processor.h", "lockstep::sentencepiece"},
                                                      {"sentencepiece_trainer.h", "lockstep::sentencepiece"},
                                                      {"dnnl", "lockstep::onednn"},
                                                      {"oneapi/dnnl", "lockstep::onednn"},
                                                      {"nccl.h", "lockstep::nccl_library"},
                                                      {"gloo/", "lockstep::gloo"},
                                                      {"mpi.h", "MPI::MPI_CXX"},
                                                      {"catch2/", "Catch2::Catch2"}}};

/// Modules that must not depend on each other, not even indirectly.
constexpr std::array<std::array<std::string_view, 2>, 4> kForbiddenPairs = {{{"lockstep::comm", "lockstep::tensor"},
                                                                             {"lockstep::nn", "lockstep::comm"},
                                                                             {"lockstep::nn", "lockstep::net"},
                                                                             {"lockstep::optim", "lockstep::comm"}}};

/// All include folders, with those of the wings.
constexpr const char* kIncludeFolders[] = {"common/",          "common/gpu/",  "common/ranks/", "common/train/",
                                           "common/workshop/", "chapters/",    "exercises/",    "tests/",
                                           "tests/gpu/",       "tests/ranks/", "tests/train/"};

/// Targets that hide which of several backends is used. A target that lists one of them does not see its dependencies.
const Names kFacades = {"lockstep::cuda_runtime", "lockstep::nccl_library"};

/// The number in a chapter folder's name; nothing for any other folder.
std::optional<int> chapter_of(const std::string& folder) {
  if (!folder.starts_with("chapters/") || folder.size() < 11) return std::nullopt;
  return std::stoi(folder.substr(9, 2));
}

struct Include {
  std::string path;
  bool is_quoted = false;
};

std::optional<Include> parse_include(const std::string& line) {
  std::string_view text = course::trim(line);
  if (!text.starts_with('#')) return std::nullopt;
  text = course::trim(text.substr(1));
  if (!text.starts_with("include")) return std::nullopt;
  text = course::trim(text.substr(7));
  const bool is_quoted = text.starts_with('"');
  if (!is_quoted && !text.starts_with('<')) return std::nullopt;
  const std::size_t end = text.find(is_quoted ? '"' : '>', 1);
  return Include{std::string(text.substr(1, end - 1)), is_quoted};
}

class Checker {
 public:
  Checker(const fs::path& root, const TargetGraph& graph)
      : root_(root), paths_(project_files(root)), graph_(graph), targets_(graph.targets) {
    for (const auto& [name, target] : targets_) {
      for (const std::string& file : target.headers) {
        owners_[file].insert(name);
        public_headers_.insert(file);
      }
      for (const std::string& file : target.sources) owners_[file].insert(name);
    }
  }

  Problems run() {
    for (const auto& [name, target] : targets_) check_target(target);
    check_forbidden_pairs();
    for (const std::string folder : {"common", "chapters", "exercises", "solutions", "tests"}) {
      for (const std::string& path : select_files(paths_, folder, {".hpp", ".cpp", ".cu", ".cuh", ".inc"}))
        check_file(path);
    }
    return std::move(problems_);
  }

 private:
  /// All targets whose headers `target` may include: itself, its dependencies, and their public dependencies.
  const Names& visible(const Target& target) {
    const auto [entry, is_new] = visible_.try_emplace(target.name);
    if (is_new) {
      Names& names = entry->second;
      names.insert(target.name);
      for (const std::string& name : target.depends()) add_public(name, names);
    }
    return entry->second;
  }

  void add_public(const std::string& name, Names& names) const {
    if (!names.insert(name).second || !targets_.contains(name) || kFacades.contains(name)) return;
    for (const std::string& next : targets_.at(name).public_depends) add_public(next, names);
  }

  void check_target(const Target& target) {
    for (const std::string& name : target.depends()) {
      if (targets_.contains(name)) check_order(target, targets_.at(name));
    }
    const bool may_use_onednn = target.folder == "common/train/kernels" || target.folder == "tests/bench";
    if (!may_use_onednn && std::ranges::count(target.depends(), "lockstep::onednn") > 0) {
      report(target.folder, "/CMakeLists.txt: ", target.name,
             " uses oneDNN; only common/train/kernels and tests/bench may");
    }
    std::vector<std::string> trail;
    Names seen;
    find_cycle(target.name, target.name, trail, seen);
  }

  void check_order(const Target& target, const Target& used) {
    const auto own = chapter_of(target.folder), other = chapter_of(used.folder);
    if (!other) return;
    if (target.folder.starts_with("common/")) {
      report(target.folder, "/CMakeLists.txt: ", target.name, " depends on ", used.name,
             ": common never uses chapters");
    } else if (own && *other > *own) {
      report(target.folder, "/CMakeLists.txt: ", target.name, " depends on ", used.name, " of a later chapter");
    }
  }

  /// Reports a cycle once, from its alphabetically first member.
  void find_cycle(const std::string& start, const std::string& at, std::vector<std::string>& trail, Names& seen) {
    if (!targets_.contains(at)) return;
    trail.push_back(at);
    for (const std::string& next : targets_.at(at).depends()) {
      if (next == start && *std::ranges::min_element(trail) == start) {
        std::string path;
        for (const std::string& name : trail) path += name + " -> ";
        report("cycle: ", path, start);
      } else if (seen.insert(next).second) {
        find_cycle(start, next, trail, seen);
      }
    }
    trail.pop_back();
  }

  void check_forbidden_pairs() {
    for (const auto& [module, forbidden] : kForbiddenPairs) {
      const auto target = targets_.find(std::string(module));
      if (target != targets_.end() && visible(target->second).contains(std::string(forbidden))) {
        report(target->second.folder, "/CMakeLists.txt: ", module, " must not depend on ", forbidden);
      }
    }
  }

  /// The targets of a file. A header that no target lists belongs to every target that is defined in or above its
  /// folder, or has sources there.
  Names owners_of(const std::string& path) {
    if (const auto owner = owners_.find(path); owner != owners_.end()) return owner->second;
    Names owners;
    if (!path.ends_with(".hpp") && !path.ends_with(".cuh") && !path.ends_with(".inc")) return owners;
    const std::string folder = fs::path(path).parent_path().generic_string();
    for (const auto& [name, target] : targets_) {
      const bool has_sources_there = std::ranges::any_of(
          target.sources, [&](const std::string& source) { return source.starts_with(folder + "/"); });
      if (folder == target.folder || folder.starts_with(target.folder + "/") || has_sources_there) owners.insert(name);
    }
    return owners;
  }

  void check_file(const std::string& path) {
    if (graph_.is_left_out(path)) return;
    const Names owners = owners_of(path);
    if (owners.empty()) return report(path, " belongs to no target, and no lockstep_leave_out() says why");
    const course::TextFile file = read_project_file(root_, path);
    for (std::size_t index = 0; index < file.lines.size(); ++index) {
      const auto include = parse_include(file.lines[index]);
      if (include && include->is_quoted)
        check_own_include(file, index, include->path, owners);
      else if (include)
        check_outside_include(file, index, include->path, owners);
    }
  }

  void check_outside_include(const course::TextFile& file, std::size_t index, const std::string& included,
                             const Names& owners) {
    for (const auto& [prefix, library] : kOutside) {
      if (!included.starts_with(prefix)) continue;
      if (!is_visible_to_any(owners, {std::string(library)})) {
        report(file.place(index), " includes <", included, ">, but its target does not list ", library);
      }
    }
  }

  void check_own_include(const course::TextFile& file, std::size_t index, const std::string& included,
                         const Names& owners) {
    const auto found = resolve(file.name, included);
    if (!found) return report(file.place(index), " includes \"", included, "\", which is not a file of the project");
    if (graph_.is_left_out(*found)) return;  // an optional part that this build lacks
    const Names targets = owners_of(*found);
    if (!is_visible_to_any(owners, targets) && !share_folder(owners, targets)) {
      report(file.place(index), " includes \"", included, "\", but ", *owners.begin(), " does not list ",
             targets.empty() ? *found : *targets.begin(), " in DEPENDS");
    }
    const bool is_public = public_headers_.contains(*found) || found->starts_with("tests/");
    const bool is_near = fs::path(file.name).parent_path() == fs::path(*found).parent_path();
    const bool is_inside = is_visible_to_any(targets, owners) && !file.name.starts_with("tests/");
    if (!is_public && !is_near && !is_inside && !file.name.starts_with("tests/")) {
      report(file.place(index), " includes \"", included, "\", a private header of another target");
    }
  }

  /// Targets in one folder may share files: each can list the same source.
  [[nodiscard]] bool share_folder(const Names& some, const Names& others) const {
    return std::ranges::any_of(some, [&](const std::string& one) {
      return std::ranges::any_of(
          others, [&](const std::string& other) { return targets_.at(one).folder == targets_.at(other).folder; });
    });
  }

  [[nodiscard]] std::optional<std::string> resolve(const std::string& from, const std::string& included) const {
    const std::string beside = (fs::path(from).parent_path() / included).lexically_normal().generic_string();
    if (std::ranges::binary_search(paths_, beside)) return beside;
    for (const char* folder : kIncludeFolders) {
      const std::string path = folder + included;
      if (std::ranges::binary_search(paths_, path)) return path;
    }
    return std::nullopt;
  }

  bool is_visible_to_any(const Names& owners, const Names& wanted) {
    return std::ranges::any_of(owners, [&](const std::string& owner) {
      const Names& names = visible(targets_.at(owner));
      return std::ranges::any_of(wanted, [&](const std::string& name) { return names.contains(name); });
    });
  }

  template <typename... Parts>
  void report(const Parts&... parts) {
    problems_.push_back(concat(parts...));
  }

  const fs::path& root_;
  std::vector<std::string> paths_;
  const TargetGraph& graph_;
  const std::map<std::string, Target>& targets_;
  std::map<std::string, Names> owners_;  // of files
  Names public_headers_;
  std::map<std::string, Names> visible_;
  Problems problems_;
};

}  // namespace

Problems check_include_graph(const fs::path& root, const TargetGraph& graph) { return Checker(root, graph).run(); }

}  // namespace lockstep::checks
