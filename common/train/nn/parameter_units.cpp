#include "nn/parameter_units.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace lockstep::nn {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

UnitLayout layout_of(std::span<const ParameterShape> parameters, std::span<const std::size_t> members, int ranks) {
  std::vector<std::int64_t> counts;
  for (const std::size_t i : members) counts.push_back(parameters[i].shape.count());
  return {counts, ranks};
}

}  // namespace

std::string unit_of(const ParameterShape& parameter) {
  if (parameter.shape.rank() < 2) return kVectors;
  const std::string& name = parameter.name;
  std::size_t begin = 0;
  for (std::size_t dot = 0; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
    if (is_number(std::string_view(name).substr(begin, dot - begin))) return name.substr(0, dot);
  }
  return begin == 0 ? name : name.substr(0, begin - 1);
}

std::vector<ParameterUnit> units_of(std::span<const ParameterShape> parameters, int ranks) {
  require(ranks >= 1, "units_of: a job has at least 1 rank, not ", ranks);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> members;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::string name = unit_of(parameters[i]);
    auto unit = std::ranges::find(members, name, [](const auto& each) { return each.first; });
    if (unit == members.end()) unit = members.insert(unit, {std::move(name), {}});
    unit->second.push_back(i);
  }
  std::vector<ParameterUnit> units;
  for (auto& [name, indices] : members) {
    UnitLayout layout = layout_of(parameters, indices, ranks);
    units.push_back({std::move(name), std::move(indices), std::move(layout)});
  }
  return units;
}

}  // namespace lockstep::nn
