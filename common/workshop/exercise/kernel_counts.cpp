#include "exercise/kernel_counts.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "exercise/message.hpp"

namespace lockstep::exercise {
namespace {

// Each number of the counts, in a fixed order.
template <typename Counts>
auto fields_of(Counts& counts) {
  std::vector<decltype(&counts.barriers)> fields;
  for (auto* memory : {&counts.loads, &counts.stores, &counts.shared_loads, &counts.shared_stores})
    fields.insert(fields.end(), {&memory->requests, &memory->bytes, &memory->transactions, &memory->fewest});
  fields.insert(fields.end(), {&counts.barriers, &counts.atomics});
  return fields;
}

}  // namespace

void set_counts(Answer& answer, const KernelCounts& counts) {
  std::vector<std::int64_t> values;
  for (const std::uint64_t* field : fields_of(counts)) values.push_back(static_cast<std::int64_t>(*field));
  answer.set_numbers<std::int64_t>(kKernelCountsField, values);
}

std::optional<KernelCounts> counts_in(const nlohmann::json& answer) {
  if (!answer.contains(kKernelCountsField)) return std::nullopt;
  const std::vector<std::int64_t> values = numbers_in<std::int64_t>(answer.at(kKernelCountsField));
  KernelCounts counts;
  const auto fields = fields_of(counts);
  if (values.size() != fields.size()) throw FormatError("the counts of a kernel are not complete");
  for (std::size_t i = 0; i < fields.size(); ++i) *fields[i] = static_cast<std::uint64_t>(values[i]);
  return counts;
}

}  // namespace lockstep::exercise
