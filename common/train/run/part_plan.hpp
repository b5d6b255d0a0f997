#pragma once
/// @file
/// Which rank holds which elements of tensors that ranks divide among themselves.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// A run of elements of a whole tensor, and its owner.
struct OwnedRun {
  Range elements;             ///< Of the whole tensor, row by row.
  int rank = 0;               ///< The owner.
  std::int64_t position = 0;  ///< Of the first of them among the elements that the owner holds.
};

/// The parts of all ranks of a group, put together. The same on all ranks. Every element has exactly one owner.
class PartPlan {
 public:
  /// The part of one tensor that a rank owns.
  struct Owner {
    int rank = 0;
    Slice slice;
  };
  /// One whole tensor.
  struct Whole {
    std::string name;
    Shape shape;
    DType dtype = DType::kFloat32;
    std::vector<Owner> owners;  ///< By rank; those with at least one element.
  };

  /// Tells all ranks which parts this one holds. Collective.
  /// @param parts  Their tensors may come and go later, their slices may not change.
  /// @param group  Null: this process alone.
  /// @throws MismatchError  On all ranks: ranks take a tensor for different ones, or an element has no owner or two.
  ///                        Names tensor, ranks and elements.
  /// @cost  Two all_gathers of about 100 bytes a part.
  PartPlan(std::span<const NamedPart> parts, comm::ProcessGroup* group);

  /// In the order in which a file has them: as the ranks name them, rank 0 first.
  [[nodiscard]] std::span<const Whole> tensors() const noexcept { return tensors_; }

  /// This rank's parts in the order of tensors(); null for a tensor of which it owns nothing.
  /// @throws ContractError  `parts` are not those of the constructor.
  [[nodiscard]] std::vector<const NamedPart*> arranged(std::span<const NamedPart> parts) const;

 private:
  int rank_;
  std::vector<Whole> tensors_;
};

/// All elements of a tensor with their owners, ascending.
/// @cost  An entry for each run of adjacent elements of a slice: one for whole rows, many for columns.
[[nodiscard]] std::vector<OwnedRun> runs_of(const PartPlan::Whole& tensor);

}  // namespace lockstep::run
