#include "06_gpt_ddp/ddp/gradient_faults.hpp"

#include <algorithm>
#include <string>

#include "06_gpt_ddp/replica_check.hpp"
#include "base/error.hpp"
#include "comm/objects.hpp"

namespace lockstep::ddp {
namespace {

// One row per rank: the step, then a fault per parameter. Every rank holds the same table.
struct FaultTable {
  std::vector<std::int64_t> cells;
  std::size_t row_length;
  const comm::JobContext& job;

  [[nodiscard]] std::size_t rank_count() const { return cells.size() / row_length; }
  [[nodiscard]] GradientFault fault(std::size_t rank, std::size_t parameter) const {
    return static_cast<GradientFault>(cells[rank * row_length + 1 + parameter]);
  }
  [[nodiscard]] std::int64_t step() const {
    std::int64_t step = 0;
    for (std::size_t rank = 0; rank < rank_count(); ++rank) step = std::max(step, cells[rank * row_length]);
    return step;
  }
};

// "rank 1", "ranks 0, 2", "all ranks"; empty if no rank has this fault.
std::string ranks_with(const FaultTable& table, GradientFault fault, std::size_t parameter) {
  std::string ranks;
  std::size_t found = 0;
  for (std::size_t rank = 0; rank < table.rank_count(); ++rank) {
    if (table.fault(rank, parameter) != fault) continue;
    ranks += concat(found == 0 ? "" : ", ", table.job.global_rank(static_cast<int>(rank)));
    ++found;
  }
  if (found == 0) return "";
  if (found > 1 && found == table.rank_count()) return "all ranks";
  return concat(found == 1 ? "rank " : "ranks ", ranks);
}

// The only rank that has this fault; -1 if several have it, or none.
int only_rank_with(const FaultTable& table, GradientFault fault, std::size_t parameter_count) {
  int only = -1;
  for (std::size_t rank = 0; rank < table.rank_count(); ++rank) {
    bool has_fault = false;
    for (std::size_t i = 0; i < parameter_count; ++i) has_fault = has_fault || table.fault(rank, i) == fault;
    if (has_fault && only >= 0) return -1;
    if (has_fault) only = static_cast<int>(rank);
  }
  return only;
}

// "a on rank 1, b on all ranks"; empty if no rank has this fault.
std::string list(const FaultTable& table, GradientFault fault, std::span<const nn::NamedParameter> parameters) {
  constexpr int kMostNamed = 8;
  std::string text;
  int found = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string ranks = ranks_with(table, fault, i);
    if (ranks.empty() || ++found > kMostNamed) continue;
    text += concat(text.empty() ? "" : ", ", parameters[i].name, " on ", ranks);
  }
  return found > kMostNamed ? concat(text, " and ", found - kMostNamed, " more") : text;
}

}  // namespace

void throw_gradient_faults(comm::ProcessGroup& group, std::span<const nn::NamedParameter> parameters,
                           std::span<const GradientFault> faults, std::int64_t step,
                           const std::function<std::string()>& advice) {
  std::vector<std::int64_t> row{step};
  for (const GradientFault fault : faults) row.push_back(static_cast<std::int64_t>(fault));
  const FaultTable table{gather_rows(group, row), row.size(), group.context()};
  const auto prepare = [&](const std::string& message, GradientFault fault) {
    group.prepare_common_error(message, only_rank_with(table, fault, parameters.size()));
    return message;
  };
  if (const std::string names = list(table, GradientFault::kNotFinite, parameters); !names.empty()) {
    const std::string way_back = advice ? comm::broadcast_text(group, group.rank() == 0 ? advice() : "", 0) : "";
    throw Error(
        prepare(concat("step ", table.step(), ": the gradient is not finite for ", names,
                       ", before averaging; try a lower learning rate, more warm-up steps or clipping", way_back),
                GradientFault::kNotFinite));
  }
  if (const std::string names = list(table, GradientFault::kUnaveraged, parameters); !names.empty()) {
    throw ContractError(
        prepare(concat("step ", table.step(), ": nobody averages the gradient of ", names,
                       ": frozen when the model was wrapped; unfreeze it before, or destroy the wrapper "
                       "afterwards, wrap the model again and make a new optimizer"),
                GradientFault::kUnaveraged));
  }
  if (const std::string names = list(table, GradientFault::kMissing, parameters); !names.empty()) {
    throw ContractError(prepare(concat("step ", table.step(), ": backward gave no gradient to ", names,
                                       "; every parameter must take part in the loss on every rank, unless "
                                       "find_unused_parameters allows it"),
                                GradientFault::kMissing));
  }
  throw ContractError(
      prepare(concat("step ", table.step(), ": static_graph promises that the same parameters are used in ",
                     "every step, but this step used a different set than the first one: ",
                     list(table, GradientFault::kUnexpected, parameters)),
              GradientFault::kUnexpected));
}

}  // namespace lockstep::ddp
