#include "target_graph.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace lockstep::checks {

std::vector<std::string> Target::depends() const {
  std::vector<std::string> all = public_depends;
  all.insert(all.end(), private_depends.begin(), private_depends.end());
  return all;
}

bool TargetGraph::is_left_out(const std::string& path) const {
  return std::ranges::any_of(left_out, [&](const auto& entry) {
    return path.starts_with(entry.first) && (path.size() == entry.first.size() || path[entry.first.size()] == '/');
  });
}

TargetGraph read_target_graph(const std::filesystem::path& file) {
  TargetGraph graph;
  try {
    const nlohmann::json json = nlohmann::json::parse(read_file(file));
    for (const nlohmann::json& entry : json.at("targets")) {
      Target& target = graph.targets[entry.at("name")];
      entry.at("name").get_to(target.name);
      entry.at("kind").get_to(target.kind);
      entry.at("folder").get_to(target.folder);
      entry.at("headers").get_to(target.headers);
      entry.at("sources").get_to(target.sources);
      entry.at("public_depends").get_to(target.public_depends);
      entry.at("private_depends").get_to(target.private_depends);
    }
    for (const nlohmann::json& entry : json.at("left_out")) {
      graph.left_out[entry.at("path").get<std::string>()] = entry.at("reason").get<std::string>();
    }
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(file.string(), " does not describe targets: ", error.what()));
  }
  return graph;
}

}  // namespace lockstep::checks
