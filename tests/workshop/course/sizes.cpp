#include "sizes.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <string_view>

#include "base/text.hpp"
#include "cpp_classes.hpp"
#include "cpp_functions.hpp"

namespace lockstep::checks {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFunctionLimit = 80, kFunctionMedian = 12, kFunctionPercentile95 = 40;
constexpr std::size_t kFolderEntries = 12, kMainOfGptSingle = 60;
constexpr std::size_t kClassMethods = 20, kClassMembers = 15;

// Interfaces that mirror PyTorch's and Accelerate's, whose methods are what users look for.
constexpr std::string_view kMirrored[] = {"Accelerator",         "Module", "ProcessGroup",
                                          "ProcessGroupBackend", "Tensor", "Variable"};

struct FileLimit {
  std::string_view pattern;  ///< Of the path; the first that matches counts.
  std::size_t budget;
  std::size_t hard;
  std::string_view what;
};

const std::vector<FileLimit>& file_limits() {
  static const std::vector<FileLimit> kLimits = {
      {R"(chapters/.*/naive_[^/]*)", 80, 80, "a naive version"},
      {R"(chapters/02_ring_all_reduce/ring_process_group\.cpp)", 150, 150, "the ring's core"},
      {R"(chapters/.*/train_gpt_single\.cpp)", 150, 150, "the baseline"},
      {R"(chapters/.*\.hpp)", 150, 250, "a chapter's header"},
      {R"(chapters/.*)", 250, 250, "a chapter's file"},
      {R"(.*\.(hpp|cuh))", 150, 300, "a header"},
      {R"(.*)", 300, 500, "a source"},
  };
  return kLimits;
}

class Measurement {
 public:
  explicit Measurement(const fs::path& root) : root_(root), paths_(project_files(root)) {}

  SizeReport run() {
    for (const std::string folder : {"common", "chapters", "tests"}) {
      for (const std::string& path : select_files(paths_, folder, {".hpp", ".cpp", ".cu", ".cuh"})) measure_file(path);
    }
    check_folders();
    check_sources_of_classes();
    return {std::move(problems_), budget_text()};
  }

 private:
  void measure_file(const std::string& path) {
    const course::TextFile file = read_project_file(root_, path);
    check_file_length(path, file.lines.size());
    if (!path.starts_with("tests/")) measure_classes(path, file);
    for (const FunctionSpan& function : find_functions(file)) {
      if (!path.starts_with("tests/")) lengths_.push_back(function.line_count());
      check_function(path, function);
    }
  }

  void check_file_length(const std::string& path, std::size_t count) {
    const auto limit = std::ranges::find_if(file_limits(), [&](const FileLimit& each) {
      return std::regex_match(path, std::regex(each.pattern.begin(), each.pattern.end()));
    });
    if (count > limit->hard)
      report(path, " has ", count, " lines; ", limit->what, " has at most ", limit->hard);
    else if (count > limit->budget)
      over_budget_ += concat("\n  ", path, ": ", count, " lines (", limit->budget, ")");
  }

  void check_function(const std::string& path, const FunctionSpan& function) {
    const std::string place = concat(path, ":", function.first_line, " ", function.name);
    const bool is_gpt_main = path.ends_with("/train_gpt_single.cpp") && function.name == "main";
    const std::size_t limit = is_gpt_main ? kMainOfGptSingle : kFunctionLimit;
    if (function.line_count() > limit) {
      report(place, " has ", function.line_count(), " lines; at most ", limit, " are allowed");
    } else if (function.line_count() > kFunctionPercentile95) {
      over_budget_ += concat("\n  ", place, ": ", function.line_count(), " lines (", kFunctionPercentile95, ")");
    }
  }

  // A struct's members are what it is; a class with many has more than one job.
  void measure_classes(const std::string& path, const course::TextFile& file) {
    const ClassesOfFile found = find_classes(file);
    for (const ClassShape& shape : found.classes) {
      const std::string name = shape.name.substr(shape.name.rfind(':') + 1);
      const std::string place = concat(path, ":", shape.line, " ", name);
      if (shape.methods.size() > kClassMethods && std::ranges::find(kMirrored, name) == std::end(kMirrored))
        report(place, " has ", shape.methods.size(), " methods; a class has at most ", kClassMethods);
      if (shape.member_count > kClassMembers && !shape.is_struct)
        report(place, " has ", shape.member_count, " members; a class has at most ", kClassMembers);
    }
    for (const std::string& name : found.defined_elsewhere) sources_of_classes_[name].push_back(path);
  }

  void check_sources_of_classes() {
    for (const auto& [name, sources] : sources_of_classes_)
      if (sources.size() > 1)
        report("the methods of ", name, " are in ", sources.size(), " sources, ", sources[0], " and ", sources[1],
               "; a class has one");
  }

  void check_folders() {
    std::map<std::string, std::vector<std::string>> entries;
    for (const std::string& path : paths_) {
      static const std::regex kEntry(R"((chapters/[^/]+)/([^/]+).*)");
      std::smatch match;
      if (!std::regex_match(path, match, kEntry)) continue;
      std::vector<std::string>& names = entries[match[1]];
      if (std::ranges::find(names, match[2].str()) == names.end()) names.push_back(match[2]);
    }
    for (const auto& [folder, names] : entries) {
      if (names.size() <= kFolderEntries) continue;
      report(folder, " has ", names.size(), " entries; a chapter's folder has at most ", kFolderEntries);
    }
  }

  [[nodiscard]] std::string budget_text() {
    if (lengths_.empty()) return "no functions";
    std::ranges::sort(lengths_);
    const std::size_t median = lengths_[lengths_.size() / 2], high = lengths_[lengths_.size() * 95 / 100];
    return concat("functions: ", lengths_.size(), ", median ", median, " lines (budget ", kFunctionMedian,
                  "), 95 % at most ", high, " (", kFunctionPercentile95, "), longest ", lengths_.back(),
                  "\nover budget, within the hard limit:", over_budget_.empty() ? " nothing" : over_budget_);
  }

  template <typename... Parts>
  void report(const Parts&... parts) {
    problems_.push_back(concat(parts...));
  }

  const fs::path& root_;
  std::vector<std::string> paths_;
  std::vector<std::size_t> lengths_;
  std::map<std::string, std::vector<std::string>> sources_of_classes_;
  std::string over_budget_;
  Problems problems_;
};

}  // namespace

SizeReport measure_sizes(const fs::path& root) { return Measurement(root).run(); }

}  // namespace lockstep::checks
