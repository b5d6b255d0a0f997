#include "run/training_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/error.hpp"
#include "comm/objects.hpp"
#include "comm/process_group.hpp"

namespace lockstep::run {
namespace {

std::map<std::string, const nn::NamedParameter*> updated_parameters(const optim::Optimizer& optimizer) {
  std::map<std::string, const nn::NamedParameter*> parameters;
  for (const nn::ParameterGroup& group : optimizer.groups()) {
    for (const nn::NamedParameter& named : group.parameters) parameters[named.name] = &named;
  }
  return parameters;
}

}  // namespace

std::vector<NamedPart> parts_of(const optim::Optimizer& optimizer) {
  const auto parameters = updated_parameters(optimizer);
  std::vector<NamedPart> parts;
  for (const optim::NamedTensor& state : optimizer.state()) {
    const auto found = parameters.find(state.name.substr(0, state.name.rfind('.')));
    require(found != parameters.end(), "the optimizer's state ", state.name, " belongs to no parameter");
    parts.push_back({state.name, state.tensor, found->second->slice, found->second->is_owned});
  }
  return parts;
}

optim::StepCounts step_counts_of_all(const optim::Optimizer& optimizer, comm::ProcessGroup* group) {
  optim::StepCounts counts = optimizer.step_counts();
  if (group == nullptr) return counts;
  const auto parameters = updated_parameters(optimizer);
  std::erase_if(counts.fewer, [&](const auto& each) {
    const nn::NamedParameter& named = *parameters.at(each.first);
    return !named.is_owned || named.slice.count() == 0;
  });
  auto most = static_cast<std::int64_t>(counts.fewer.size());
  group->all_reduce(comm::host_buffer(std::span(&most, 1)), comm::ReduceOp::kMax).synchronize();
  if (most == 0) return counts;
  for (const nlohmann::json& of_rank : comm::all_gather_object(*group, counts.fewer, {.tag = "update counts"})) {
    for (const auto& [name, count] : of_rank.get<std::map<std::string, std::int64_t>>()) {
      std::int64_t& known = counts.fewer.emplace(name, count).first->second;
      known = std::min(known, count);
    }
  }
  return counts;
}

optim::StepCounts own_step_counts(const optim::StepCounts& of_all, const optim::Optimizer& optimizer) {
  const auto parameters = updated_parameters(optimizer);
  optim::StepCounts own = of_all;
  std::erase_if(own.fewer, [&](const auto& each) { return !parameters.contains(each.first); });
  return own;
}

}  // namespace lockstep::run
