// The list of all ladders, with their sizes for checks, counts and times.
#include "04_kernels/measure/problems.hpp"
#include "base/error.hpp"
#include "base/nearest_match.hpp"

namespace lockstep::ladders {

namespace {

/// The texts of the ladder in this member of a registry.
template <auto kMember>
std::vector<RungText> texts(const Registry& registry) {
  std::vector<RungText> texts;
  for (const auto& rung : registry.*kMember) texts.push_back({rung.name, rung.requirement, rung.removes});
  return texts;
}

const std::vector<LadderEntry>& entries() {
  static const std::vector<LadderEntry> kEntries = {
      {"reduction",
       "the sum of an array",
       "count",
       {70001},
       {65536},
       {1 << 26},
       texts<&Registry::reduction>,
       make_reduction},
      {"matrix_product",
       "C = A B in float32",
       "M x N x K",
       {130, 140, 36},
       {128, 128, 64},
       {4096, 4096, 4096},
       texts<&Registry::matrix_product>,
       make_matrix_product},
      {"softmax",
       "the softmax of each row",
       "rows x columns",
       {130, 260},
       {128, 1024},
       {65536, 1024},
       texts<&Registry::softmax>,
       make_softmax},
      {"adamw", "one step of the optimizer", "count", {5003}, {8192}, {1 << 26}, texts<&Registry::adamw>, make_adamw},
      {"transpose",
       "rows become columns",
       "rows x columns",
       {70, 101},
       {256, 256},
       {8192, 8192},
       texts<&Registry::transpose>,
       make_transpose},
      {"layer_norm",
       "each row with mean 0 and variance 1",
       "rows x columns",
       {130, 260},
       {128, 1024},
       {65536, 1024},
       texts<&Registry::layer_norm>,
       make_layer_norm},
      {"flash_attention",
       "causal attention, 64 numbers a head",
       "heads x positions",
       {2, 97},
       {2, 128},
       {64, 2048},
       texts<&Registry::flash_attention>,
       make_flash_attention},
      {"tensor_cores",
       "C = A B^T in bfloat16 on tensor cores",
       "M x N x K",
       {70, 50, 40},
       {128, 128, 64},
       {4096, 4096, 4096},
       texts<&Registry::tensor_cores>,
       make_tensor_cores},
  };
  return kEntries;
}

}  // namespace

std::span<const LadderEntry> all_ladders() { return entries(); }

const LadderEntry& find_ladder(std::string_view name) {
  std::vector<std::string> names;
  for (const LadderEntry& entry : entries()) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw UsageError(concat("there is no ladder ", name, did_you_mean(name, names), "  (ladder lists them)"));
}

}  // namespace lockstep::ladders
