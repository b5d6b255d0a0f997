#pragma once
/// @file
/// The units of a module: which parameters are gathered and reduced together.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/process_group.hpp"
#include "nn/module.hpp"
#include "nn/unit_layout.hpp"

namespace lockstep::sharded {

/// Parameters that are reduced and gathered in one collective. Their values and gradients are views of its memory.
struct Unit {
  std::string name;                     ///< "h.3", "wte", "vectors".
  std::string tag;                      ///< "unit h.3": the label of its collectives, which ranks compare.
  std::vector<std::size_t> parameters;  ///< Indices into the module's trained parameters, as they lie in the unit.
  nn::UnitLayout layout;
  bool is_always_whole = true;  ///< False: `values` comes when it is needed, and goes (stage 3).
  Tensor values = {};           ///< [layout.count()]; undefined while a rank has its own part only.
  Tensor own_values = {};       ///< [layout.part_of(rank).count()]: this rank's part, a view of `values` if they stay.
  Tensor gradients = {};      ///< [layout.count()]; from stage 2 on undefined but while backward writes and sends them.
  Tensor own_gradients = {};  ///< As `own_values`: means over all ranks.

  /// The elements of `whole`, values or gradients, that belong to rank `rank`.
  [[nodiscard]] Tensor part_of(const Tensor& whole, int rank) const {
    const Range part = layout.part_of(rank);
    return whole.rows(part.begin, part.end);
  }
  /// The elements of `whole` that are parameter number `k` of the unit, as `shape`.
  [[nodiscard]] Tensor view(const Tensor& whole, std::size_t k, const Shape& shape) const {
    const Range place = layout.place_of(k);
    return whole.rows(place.begin, place.end).reshape(shape);
  }
  /// The elements of `part`, rank `rank`'s values or gradients, that are its shard of parameter number `k`, [count];
  /// may be empty.
  [[nodiscard]] Tensor shard(const Tensor& part, std::size_t k, int rank) const {
    const Range own = layout.own_elements(k, rank);
    if (own.count() == 0) return part.rows(0, 0);
    const std::int64_t first = layout.place_of(k).begin - layout.part_of(rank).begin;
    return part.rows(first + own.begin, first + own.end);
  }
};

/// Divides parameters into units (nn::units_of()), in the order in which backward completes them if it goes through the
/// parameters from the last to the first, and copies rank 0's values to all ranks. Values that stay whole move into
/// memory of the group, as do the gradients of stage 1; others are released, unit by unit, so that a module whose
/// values are drawn when they are first needed is never whole. Collective.
/// @param parameters  float32, on one device; equal in names and shapes on all ranks; each with memory of its own.
/// @param stage       Of ZeRO, 1 to 3.
[[nodiscard]] std::vector<Unit> make_units(std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group,
                                           int stage);

/// Memory of `count` float32 elements that the group reads in place, filled with zeros. Collective.
[[nodiscard]] Tensor allocate_elements(std::int64_t count, comm::ProcessGroup& group, Device device);

/// This rank's number in the job, for messages: the group may be a part of it.
[[nodiscard]] inline int number_in_job(const comm::ProcessGroup& group) {
  return group.context().global_rank(group.rank());
}

}  // namespace lockstep::sharded
