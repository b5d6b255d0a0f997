#include "09_sharded/shard/unit.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "device/memory_limit.hpp"
#include "nn/parameter_units.hpp"

namespace lockstep::sharded {
Tensor allocate_elements(std::int64_t count, comm::ProcessGroup& group, Device device) {
  const std::size_t bytes = static_cast<std::size_t>(count) * bytes_of(DType::kFloat32);
  const Tensor tensor = Tensor::view_of(group.allocate(bytes, device), 0, {count}, DType::kFloat32);
  tensor.fill_zero();
  return tensor;
}

namespace {

std::vector<nn::ParameterShape> shapes_of(std::span<const nn::NamedParameter> parameters) {
  std::vector<nn::ParameterShape> shapes;
  for (const nn::NamedParameter& named : parameters) {
    require(named.parameter.dtype() == DType::kFloat32, "sharded: ", named.name, " is ", named.parameter.dtype(),
            "; units hold float32");
    shapes.push_back({named.name, named.parameter.shape()});
  }
  return shapes;
}

// Parameters that are tied by their memory, and not by register_tied_parameter(), would part: each moves to its unit.
void require_memory_of_their_own(std::span<const nn::NamedParameter> parameters, int rank) {
  std::map<const void*, const nn::NamedParameter*> owners;
  const auto unit_of = [](const nn::NamedParameter& named) {
    return nn::unit_of({named.name, named.parameter.shape()});
  };
  for (const nn::NamedParameter& named : parameters) {
    if (!named.parameter.has_value() || named.parameter.shape().count() == 0) continue;
    const auto [owner, is_new] = owners.emplace(named.parameter.value().const_data(), &named);
    if (is_new) continue;
    throw ContractError(concat("rank ", rank, ": sharded: ", named.name, " has the memory of ", owner->second->name,
                               ", and would get its own in unit ", unit_of(named), " beside unit ",
                               unit_of(*owner->second), ", untied: register it with register_tied_parameter()"));
  }
}

// Moves the parameters' values into the unit, and takes rank 0's.
void fill(Unit& unit, std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group) {
  const Device device = parameters[unit.parameters.front()].parameter.device();
  const std::int64_t count = unit.layout.count();
  const AllocationPurpose purpose("values of ", unit.tag);
  unit.values =
      unit.is_always_whole ? allocate_elements(count, group, device) : Tensor::zeros({count}, DType::kFloat32, device);
  for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
    const autograd::Variable& parameter = parameters[unit.parameters[k]].parameter;
    const Tensor place = unit.view(unit.values, k, parameter.shape());
    place.copy_from(parameter.value());
    parameter.adopt_value(place);
  }
  group.broadcast(comm::buffer_of(unit.values), 0, {.tag = unit.tag}).synchronize();
  unit.own_values = unit.part_of(unit.values, group.rank());
  if (unit.is_always_whole) return;
  const Tensor own = allocate_elements(unit.own_values.count(), group, device);
  own.copy_from(unit.own_values);
  unit.own_values = own;
  for (const std::size_t i : unit.parameters) (void)parameters[i].parameter.release_value();
  unit.values = Tensor();
}

void make_room_for_gradients(Unit& unit, std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group,
                             int stage) {
  const Device device = parameters[unit.parameters.front()].parameter.device();
  const AllocationPurpose purpose("gradients of ", unit.tag);
  if (stage > 1) {
    unit.own_gradients = Tensor::zeros(unit.own_values.shape(), DType::kFloat32, device);
    return;
  }
  unit.gradients = allocate_elements(unit.layout.count(), group, device);
  unit.own_gradients = unit.part_of(unit.gradients, group.rank());
  for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
    const autograd::Variable& parameter = parameters[unit.parameters[k]].parameter;
    parameter.rebind_gradient(unit.view(unit.gradients, k, parameter.shape()));
  }
}

}  // namespace

std::vector<Unit> make_units(std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group, int stage) {
  require_memory_of_their_own(parameters, number_in_job(group));
  std::vector<nn::ParameterUnit> divided = nn::units_of(shapes_of(parameters), group.world_size());
  std::ranges::reverse(divided);
  std::vector<Unit> units;
  for (nn::ParameterUnit& unit : divided) {
    units.push_back({.name = unit.name,
                     .tag = ("unit " + unit.name).substr(0, comm::CallTag::kMaxBytes),
                     .parameters = std::move(unit.parameters),
                     .layout = std::move(unit.layout),
                     .is_always_whole = stage < 3 || unit.name == nn::kVectors});
    fill(units.back(), parameters, group);
    make_room_for_gradients(units.back(), parameters, group, stage);
  }
  return units;
}

}  // namespace lockstep::sharded
