#include "run/part_plan.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "comm/objects.hpp"
#include "comm/process_group.hpp"

namespace lockstep::run {
namespace {

using nlohmann::json;

json as_json(const Range& range) { return json::array({range.begin, range.end}); }

Range range_from(const json& range) { return {range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>()}; }

// [name, type, dimensions, rows, columns, elements, is owned]
json as_json(const NamedPart& part) {
  json columns = json::array();
  for (const Range& range : part.slice.columns) columns.push_back(as_json(range));
  return json::array({part.name, static_cast<int>(part.tensor.dtype()), part.slice.whole.dimensions(),
                      as_json(part.slice.rows), columns, as_json(part.slice.elements), part.is_owned});
}

Slice slice_from(const json& part) {
  Slice slice{Shape(part.at(2).get<std::vector<std::int64_t>>()), range_from(part.at(3)), {}, range_from(part.at(5))};
  for (const json& range : part.at(4)) slice.columns.push_back(range_from(range));
  require_valid(slice);
  return slice;
}

std::string type_and_shape(DType dtype, const Shape& shape) { return concat(dtype, ' ', shape); }

std::string range_text(const Range& elements) { return concat("elements [", elements.begin, ", ", elements.end, ")"); }

// All ranks find the same problem.
[[noreturn]] void throw_on_all(comm::ProcessGroup* group, const std::string& message) {
  if (group != nullptr) group->prepare_common_error(message);
  throw MismatchError(message);
}

// The problem with the owners of a tensor; empty: none.
std::string coverage_problem(const PartPlan::Whole& tensor) {
  const std::string head = concat("the ranks' parts of ", tensor.name, " ", tensor.shape, " do not make a whole: ");
  OwnedRun last;
  for (const OwnedRun& run : runs_of(tensor)) {
    if (run.elements.begin > last.elements.end)
      return concat(head, range_text({last.elements.end, run.elements.begin}), " are owned by no rank");
    if (run.elements.begin < last.elements.end) {
      const Range both{run.elements.begin, std::min(run.elements.end, last.elements.end)};
      return concat(head, range_text(both), " are owned by rank ", std::min(last.rank, run.rank), " and by rank ",
                    std::max(last.rank, run.rank), "; of ranks that hold the same elements, one owns them");
    }
    last = run;
  }
  if (last.elements.end == tensor.shape.count()) return "";
  return concat(head, range_text({last.elements.end, tensor.shape.count()}), " are owned by no rank");
}

}  // namespace

PartPlan::PartPlan(std::span<const NamedPart> parts, comm::ProcessGroup* group)
    : rank_(group == nullptr ? 0 : group->rank()) {
  json own = json::array();
  for (const NamedPart& part : parts) own.push_back(as_json(part));
  const std::vector<json> of_ranks =
      group == nullptr ? std::vector<json>{own} : comm::all_gather_object(*group, own, {.tag = "who saves what"});
  std::map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const json& part : of_ranks[rank]) {
      const Slice slice = slice_from(part);
      const auto [place, is_new] = places.emplace(part.at(0).get<std::string>(), tensors_.size());
      const auto dtype = static_cast<DType>(part.at(1).get<int>());
      if (is_new) tensors_.push_back({place->first, slice.whole, dtype, {}});
      Whole& tensor = tensors_[place->second];
      if (tensor.shape != slice.whole || tensor.dtype != dtype)
        throw_on_all(group, concat("the ranks hold parts of different tensors: ", tensor.name, " is ",
                                   type_and_shape(dtype, slice.whole), " on rank ", rank, " and ",
                                   type_and_shape(tensor.dtype, tensor.shape), " on a lower one"));
      if (part.at(6).get<bool>() && slice.count() > 0) tensor.owners.push_back({static_cast<int>(rank), slice});
    }
  }
  for (const Whole& tensor : tensors_) {
    if (const std::string problem = coverage_problem(tensor); !problem.empty()) throw_on_all(group, problem);
  }
}

std::vector<const NamedPart*> PartPlan::arranged(std::span<const NamedPart> parts) const {
  std::map<std::string, const NamedPart*> by_name;
  for (const NamedPart& part : parts) {
    if (part.is_owned && part.slice.count() > 0) by_name.emplace(part.name, &part);
  }
  std::vector<const NamedPart*> arranged;
  for (const Whole& tensor : tensors_) {
    const auto owner = std::ranges::find(tensor.owners, rank_, &Owner::rank);
    arranged.push_back(nullptr);
    if (owner == tensor.owners.end()) continue;
    const auto found = by_name.find(tensor.name);
    require(found != by_name.end() && found->second->slice == owner->slice &&
                found->second->tensor.count() == owner->slice.count() && found->second->tensor.dtype() == tensor.dtype,
            "rank ", rank_, ": the part of ", tensor.name, " is no longer the one that the ranks agreed on");
    arranged.back() = found->second;
  }
  return arranged;
}

std::vector<OwnedRun> runs_of(const PartPlan::Whole& tensor) {
  std::vector<OwnedRun> runs;
  for (const PartPlan::Owner& owner : tensor.owners) {
    std::int64_t position = 0;
    owner.slice.for_each_run([&](Range elements) {
      runs.push_back({elements, owner.rank, position});
      position += elements.count();
    });
  }
  std::ranges::stable_sort(runs, {}, [](const OwnedRun& run) { return run.elements.begin; });
  return runs;
}

}  // namespace lockstep::run
