#include "06_gpt_ddp/replica_check.hpp"

#include <xxhash.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace lockstep::ddp {
namespace {

std::int64_t hash_of(const void* data, std::size_t bytes) {
  return static_cast<std::int64_t>(XXH3_64bits(data, bytes));
}

// One hash per parameter, of all its bits.
std::vector<std::int64_t> hashes_of(std::span<const nn::NamedParameter> parameters) {
  std::vector<std::int64_t> hashes;
  for (const nn::NamedParameter& named : parameters) {
    const Tensor& value = named.parameter.value();
    hashes.push_back(hash_of(value.data(), static_cast<std::size_t>(value.bytes())));
  }
  return hashes;
}

// "rank 2" or "ranks 1, 3": those whose entry in `column` is not rank 0's.
std::string ranks_unlike_rank_0(std::span<const std::int64_t> table, std::size_t row_length, std::size_t column) {
  std::string ranks;
  int found = 0;
  for (std::size_t rank = 1; rank * row_length < table.size(); ++rank) {
    if (table[rank * row_length + column] == table[column]) continue;
    ranks += concat(found == 0 ? "" : ", ", rank);
    ++found;
  }
  return found == 0 ? "" : concat(found == 1 ? "rank " : "ranks ", ranks);
}

// Every rank holds the same table and so comes to the same verdict: all throw, or none.
void require_equal_columns(std::span<const std::int64_t> table, std::span<const nn::NamedParameter> parameters,
                           std::string_view what, std::string_view hint) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string culprits = ranks_unlike_rank_0(table, parameters.size(), i);
    if (!culprits.empty()) {
      throw MismatchError(concat(what, ": parameter ", parameters[i].name, " ",
                                 to_string(parameters[i].parameter.value().shape()), " of ", culprits,
                                 " differs from rank 0's; ", hint));
    }
  }
}

}  // namespace

std::vector<std::int64_t> gather_rows(comm::ProcessGroup& group, std::span<const std::int64_t> row) {
  // Each rank contributes its row at its own place and zeros elsewhere: the sum is the table.
  std::vector<std::int64_t> table(row.size() * static_cast<std::size_t>(group.world_size()));
  std::ranges::copy(row, table.begin() + static_cast<std::ptrdiff_t>(row.size()) * group.rank());
  group.all_reduce(comm::host_buffer(std::span(table))).synchronize();
  return table;
}

double average_over_ranks(comm::ProcessGroup& group, double value) {
  group.all_reduce(comm::host_buffer(std::span(&value, 1)), comm::ReduceOp::kMean).synchronize();
  return value;
}

std::uint64_t parameter_digest(const nn::Module& module) {
  const std::vector<std::int64_t> hashes = hashes_of(module.named_parameters());
  return static_cast<std::uint64_t>(hash_of(hashes.data(), hashes.size() * sizeof(std::int64_t)));
}

void require_equal_parameters(const nn::Module& module, comm::ProcessGroup& group, std::string_view when) {
  const auto parameters = module.named_parameters();
  require_equal_columns(gather_rows(group, hashes_of(parameters)), parameters,
                        concat("the replicas have drifted apart ", when),
                        "look for a step that one rank took alone, or a gradient that was not averaged");
}

void require_equal_layout(std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group) {
  const std::int64_t count[] = {static_cast<std::int64_t>(parameters.size())};
  const auto counts = gather_rows(group, count);
  if (const std::string culprits = ranks_unlike_rank_0(counts, 1, 0); !culprits.empty()) {
    throw MismatchError(concat("the ranks hold different models: rank 0 has ", counts[0], " parameters, ", culprits,
                               " another number; build the same model on every rank"));
  }
  std::vector<std::int64_t> hashes;
  for (const nn::NamedParameter& named : parameters) {
    const Tensor& value = named.parameter.value();
    const std::string description = concat(named.name, " ", value.shape(), " ", value.dtype());
    hashes.push_back(hash_of(description.data(), description.size()));
  }
  require_equal_columns(gather_rows(group, hashes), parameters, "the ranks hold different models",
                        "build the same model, with the same configuration, on every rank");
}

}  // namespace lockstep::ddp
