#include "emulator/translate/source_tree.hpp"

#include <map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "emulator/translate/translate.hpp"

namespace lockstep::translate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 1000;

struct Node {
  std::string source;
  std::string shown_name;
  Declarations declarations;
  std::map<std::string, fs::path, std::less<>> included;  // quoted name to the file it means
  bool is_translated = false;
  fs::path output;
};

class Tree {
 public:
  Tree(const fs::path& source, fs::path output, const std::string& shown_name)
      : root_(fs::weakly_canonical(source)), output_(std::move(output)) {
    load(root_, shown_name);
    for (const fs::path& path : order_) merge_kernels(kernels_, nodes_.at(path).declarations.kernels);
    decide();
  }

  TranslatedTree write() {
    fs::create_directories(fs::absolute(output_).parent_path());
    for (const fs::path& path : order_) {
      const Node& node = nodes_.at(path);
      if (!node.is_translated) continue;
      fs::create_directories(node.output.parent_path());
      const std::string text = path == root_ ? translation_unit(node.source, surroundings(node))
                                             : concat("#line 1 \"", node.shown_name, "\"\n",
                                                      translate_source(node.source, surroundings(node)));
      write_file(node.output, text);
    }
    return {order_, nodes_.at(root_).declarations.has_main};
  }

 private:
  void load(const fs::path& path, const std::string& shown_name) {
    if (nodes_.size() >= kMostFiles) throw FormatError(concat(root_.string(), " includes too many files"));
    order_.push_back(path);
    Node& node = nodes_[path];
    node.source = read_file(path);
    node.shown_name = shown_name;
    node.declarations = scan_declarations(node.source);
    for (const Inclusion& inclusion : node.declarations.inclusions) {
      std::error_code ignored;
      const fs::path found = fs::weakly_canonical(path.parent_path() / inclusion.name, ignored);
      if (!fs::is_regular_file(found, ignored)) continue;
      node.included[inclusion.name] = found;
      const std::string shown = (fs::path(shown_name).parent_path() / inclusion.name).lexically_normal().string();
      if (!nodes_.contains(found)) load(found, shown);
    }
  }

  // A header is translated if its text changes or it includes one that is translated. Repeats until nothing changes,
  // because inclusions may be circular.
  void decide() {
    std::size_t headers = 0;
    for (auto& [path, node] : nodes_) {
      Surroundings alone{node.shown_name, kernels_, {}};
      node.is_translated = path == root_ || translate_source(node.source, alone) != node.source;
      node.output = path == root_
                        ? fs::absolute(output_)
                        : fs::absolute(output_.string() + ".headers") / std::to_string(headers++) / path.filename();
    }
    for (bool is_settled = false; !is_settled;) {
      is_settled = true;
      for (auto& [path, node] : nodes_) {
        for (const auto& [name, target] : node.included) {
          if (node.is_translated || !nodes_.at(target).is_translated) continue;
          node.is_translated = true;
          is_settled = false;
        }
      }
    }
  }

  [[nodiscard]] Surroundings surroundings(const Node& node) const {
    Surroundings known{node.shown_name, kernels_, {}};
    for (const auto& [name, target] : node.included) {
      const Node& header = nodes_.at(target);
      known.inclusions[name] = (header.is_translated ? header.output : target).string();
    }
    return known;
  }

  fs::path root_;
  fs::path output_;
  std::map<fs::path, Node> nodes_;
  std::vector<fs::path> order_;  // the source first
  KernelNames kernels_;
};

}  // namespace

TranslatedTree translate_tree(const fs::path& source, const fs::path& output, const std::string& shown_name) {
  return Tree(source, output, shown_name).write();
}

std::string dependency_rule(const fs::path& output, const std::vector<fs::path>& inputs) {
  const auto escaped = [](const fs::path& path) {
    std::string text;
    for (const char character : path.string()) {
      if (character == ' ' || character == '#') text += '\\';
      if (character == '$') text += '$';
      text += character;
    }
    return text;
  };
  std::string rule = escaped(output) + ":";
  for (const fs::path& input : inputs) rule += " \\\n  " + escaped(input);
  return rule + "\n";
}

}  // namespace lockstep::translate
