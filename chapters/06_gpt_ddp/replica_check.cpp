#include "06_gpt_ddp/replica_check.hpp"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/number_list.hpp"
#include "comm/objects.hpp"
#include "run/run.hpp"

namespace lockstep::ddp {
namespace {

std::int64_t hash_of(const void* data, std::size_t bytes) {
  return static_cast<std::int64_t>(XXH3_64bits(data, bytes));
}

// One hash per parameter, of all its bits.
std::vector<std::int64_t> hashes_of(std::span<const nn::NamedParameter> parameters) {
  std::vector<std::int64_t> hashes;
  for (const nn::NamedParameter& named : parameters) {
    const Tensor value = named.parameter.value().to(Device{});
    hashes.push_back(hash_of(value.const_data(), static_cast<std::size_t>(value.bytes())));
  }
  return hashes;
}

// The ranks whose entry in `column` differs from the majority's, or from rank 0's if rank 0's is as common.
std::vector<int> outliers(std::span<const std::int64_t> table, std::size_t row_length, std::size_t column) {
  std::map<std::int64_t, int> votes;
  for (std::size_t cell = column; cell < table.size(); cell += row_length) ++votes[table[cell]];
  std::int64_t usual = table[column];
  for (const auto& [value, count] : votes) {
    if (count > votes[usual]) usual = value;
  }
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank * row_length < table.size(); ++rank) {
    if (table[rank * row_length + column] != usual) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

// Every rank holds the same table and reaches the same verdict: all throw, or none.
void require_equal_columns(comm::ProcessGroup& group, std::span<const std::int64_t> table,
                           std::span<const nn::NamedParameter> parameters, std::string_view when) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::vector<int> culprits = outliers(table, parameters.size(), i);
    if (culprits.empty()) continue;
    std::vector<int> ranks_of_job;
    for (const int rank : culprits) ranks_of_job.push_back(group.context().global_rank(rank));
    const std::string message =
        concat("the replicas have drifted apart ", when, ": parameter ", parameters[i].name, " ",
               parameters[i].parameter.value().shape(), " of ", culprits.size() == 1 ? "rank " : "ranks ",
               list_numbers(ranks_of_job), " differs from that of the other ranks; look for a step that one rank took ",
               "alone, or a gradient that was not averaged");
    group.prepare_common_error(message, culprits.size() == 1 ? culprits.front() : -1);
    throw MismatchError(message);
  }
}

// Ranks may hold parts of parameters, if all of them hold the same: as data ranks do whose model is divided further.
void require_equal_slices(comm::ProcessGroup& group, std::span<const nn::NamedParameter> parameters) {
  std::string own;
  for (const nn::NamedParameter& named : parameters) {
    std::vector<Range> ranges = named.slice.columns;
    ranges.insert(ranges.end(), {named.slice.rows, named.slice.elements});
    own += named.name;
    for (const Range range : ranges) own += concat(" ", range.begin, " ", range.end);
  }
  const std::int64_t own_hash[] = {hash_of(own.data(), own.size())};
  if (outliers(gather_rows(group, own_hash), 1, 0).empty()) return;
  group.prepare_common_error("comparing replicas: the ranks hold different parts of their parameters");
  for (const nn::NamedParameter& named : parameters) {
    require(named.slice == Slice::of(named.slice.whole), "comparing replicas: ", named.name, " is only ",
            named.slice.count(), " elements of ", named.slice.whole, ", and other ranks hold other elements of it; ",
            "compare the whole module, after gather_values()");
  }
  throw ContractError("comparing replicas: the other ranks have only parts of their parameters");
}

// Everything that must match before ranks exchange tensors, in order of registration.
std::vector<std::string> describe_layout(const nn::Module& module) {
  std::vector<std::string> entries;
  for (const nn::NamedParameter& named : module.named_parameters()) {
    const char* const kind = named.parameter.requires_grad() ? "parameter " : "frozen parameter ";
    entries.push_back(concat(kind, named.name, " ", named.parameter.dtype(), " ", named.parameter.shape()));
  }
  for (const nn::NamedBuffer& named : module.named_buffers()) {
    entries.push_back(concat("buffer ", named.name, " ", named.value.dtype(), " ", named.value.shape()));
  }
  return entries;
}

// Names the first differing entry of the lowest rank whose layout differs from rank 0's.
std::string describe_different_layouts(const std::vector<nlohmann::json>& layouts, const comm::JobContext& job) {
  std::size_t rank = 1;
  while (rank + 1 < layouts.size() && layouts[rank] == layouts[0]) ++rank;
  const auto ours = layouts[0].get<std::vector<std::string>>(), theirs = layouts[rank].get<std::vector<std::string>>();
  std::size_t entry = 0;
  while (entry < std::min(ours.size(), theirs.size()) && ours[entry] == theirs[entry]) ++entry;
  const auto what = [entry](const auto& entries) { return entry < entries.size() ? entries[entry] : "nothing"; };
  const int first = job.global_rank(0), other = job.global_rank(static_cast<int>(rank));
  return concat("the ranks hold different models: of ", ours.size(), " tensors on rank ", first, " and ", theirs.size(),
                " on rank ", other, ", number ", entry + 1, " is ", what(ours), " on rank ", first, " and ",
                what(theirs), " on rank ", other, "; build the same model, with the same configuration, on every rank");
}

}  // namespace

std::vector<std::int64_t> gather_rows(comm::ProcessGroup& group, std::span<const std::int64_t> row) {
  // Each rank contributes its own row and zeros elsewhere: the sum is the table.
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

bool replica_check_is_due(const run::Run& run) {
  const std::int64_t interval = run.options().parallel.check_replicas;
  return (interval > 0 && run.step() % interval == 0) || run.checkpoint_is_due();
}

void require_equal_parameters(const nn::Module& module, comm::ProcessGroup& group, std::string_view when) {
  std::vector<nn::NamedParameter> parameters = module.named_parameters();
  require_equal_slices(group, parameters);
  std::erase_if(parameters, [](const nn::NamedParameter& named) { return !named.parameter.has_value(); });
  require_equal_columns(group, gather_rows(group, hashes_of(parameters)), parameters, when);
}

void require_equal_layout(const nn::Module& module, comm::ProcessGroup& group) {
  const nlohmann::json layout = describe_layout(module);
  const std::string text = dump_json(layout);
  const std::int64_t own_hash[] = {hash_of(text.data(), text.size())};
  // Exchanges the whole text only if hashes differ, so that the error can name both sides.
  if (outliers(gather_rows(group, own_hash), 1, 0).empty()) return;
  const std::string message = describe_different_layouts(comm::all_gather_object(group, layout), group.context());
  group.prepare_common_error(message);
  throw MismatchError(message);
}

}  // namespace lockstep::ddp
