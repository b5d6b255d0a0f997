#include "nn/state_dict.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/elementwise.hpp"

namespace lockstep::nn {
namespace {

using TensorsByName = std::map<std::string, Tensor, std::less<>>;

bool is_convertible(DType from, DType to) {
  const bool is_widened = is_reduced_float(from) && to == DType::kFloat32;
  const bool is_rounded = from == DType::kFloat32 && is_reduced_float(to);
  return from == to || is_widened || is_rounded;
}

// Why `source` cannot be loaded into `destination`; empty: it can.
std::string misfit(std::string_view name, const Tensor& source, const Tensor& destination) {
  if (!source.is_defined()) return concat(name, " has no elements");
  if (source.shape() == destination.shape() && is_convertible(source.dtype(), destination.dtype())) return "";
  return concat(name, " is ", source.dtype(), " ", source.shape(), ", the module's ", destination.dtype(), " ",
                destination.shape());
}

void load_into(const Tensor& destination, const Tensor& source) {
  if (source.dtype() == destination.dtype()) return destination.copy_from(source);
  kernels::cast(destination, source.to(destination.device()));
}

std::string list_of(std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = concat("; ", what, " ");
  for (const std::string& name : names) text += concat(&name == names.data() ? "" : ", ", name);
  return text;
}

}  // namespace

IncompatibleKeys load_by_name(std::span<const NamedTensor> own, std::span<const NamedTensor> other_names,
                              std::span<const NamedTensor> state, Strict strict) {
  TensorsByName destinations;
  for (const NamedTensor& named : own) destinations.emplace(named.name, named.tensor);
  for (const NamedTensor& named : other_names) destinations.emplace(named.name, named.tensor);

  IncompatibleKeys keys;
  TensorsByName sources;
  std::vector<const void*> loaded;  // addresses of the destinations
  std::vector<std::string> misfits;
  for (const NamedTensor& named : state) {
    const auto destination = destinations.find(named.name);
    if (!sources.emplace(named.name, named.tensor).second) misfits.push_back(named.name + " comes twice");
    if (destination == destinations.end()) {
      keys.unexpected_keys.push_back(named.name);
      continue;
    }
    if (std::string text = misfit(named.name, named.tensor, destination->second); !text.empty()) {
      misfits.push_back(std::move(text));
    }
    loaded.push_back(destination->second.const_data());
  }
  for (const NamedTensor& named : own) {
    if (std::ranges::find(loaded, named.tensor.const_data()) == loaded.end()) keys.missing_keys.push_back(named.name);
  }
  const bool is_complete = keys.missing_keys.empty() && keys.unexpected_keys.empty();
  if (!misfits.empty() || (strict == Strict::kYes && !is_complete)) {
    throw FormatError(concat("nn: load_state_dict() loaded nothing", list_of("missing:", keys.missing_keys),
                             list_of("not the module's:", keys.unexpected_keys), list_of("do not fit:", misfits)));
  }
  for (const auto& [name, source] : sources) {
    if (const auto destination = destinations.find(name); destination != destinations.end()) {
      load_into(destination->second, source);
    }
  }
  return keys;
}

}  // namespace lockstep::nn
