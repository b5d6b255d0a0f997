#include "run/training_parts.hpp"

#include <map>
#include <string>

#include "base/error.hpp"

namespace lockstep::run {

std::vector<NamedPart> parts_of(const optim::Optimizer& optimizer) {
  std::map<std::string, const nn::NamedParameter*> parameters;
  for (const nn::ParameterGroup& group : optimizer.groups()) {
    for (const nn::NamedParameter& named : group.parameters) parameters[named.name] = &named;
  }
  std::vector<NamedPart> parts;
  for (const optim::NamedTensor& state : optimizer.state()) {
    const auto found = parameters.find(state.name.substr(0, state.name.rfind('.')));
    require(found != parameters.end(), "the optimizer's state ", state.name, " belongs to no parameter");
    parts.push_back({state.name, state.tensor, found->second->slice, found->second->is_owned});
  }
  return parts;
}

}  // namespace lockstep::run
