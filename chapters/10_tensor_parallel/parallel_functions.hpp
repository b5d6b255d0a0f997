#pragma once
/// @file
/// The four moments at which ranks with parts of a matrix exchange activations, each with its backward pass.
///
/// Vocabulary. A tensor is *whole* if every rank has all of it, equal bits; *partial* if every rank has all of its
/// elements but each is only a part of a sum over the ranks; *divided* if rank r of t has rows [R r/t, R (r+1)/t).
/// A gradient is of one of these kinds too, and backward turns it back into that of the input:
///
/// | function | input | output | gradient of the output | gradient of the input |
/// |-|-|-|-|-|
/// | copy_to_ranks | whole | whole | partial | whole: summed |
/// | sum_over_ranks | partial | whole: summed | whole | whole for each rank's part |
/// | gather_rows | divided | whole: gathered | partial | divided: summed and scattered |
/// | scatter_sum | partial | divided: summed and scattered | divided | whole: gathered |
///
/// All calls are collective, in forward and in backward(): every rank records the same operations in the same order. In
/// a group of one rank all four return their input. The group must outlive the graph.
/// @source  Shoeybi et al., "Megatron-LM", 2019, section 3 (copy_to_ranks is its f, sum_over_ranks its g); Korthikanti
///          et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2.2 (the other
///          two).
#include <string_view>

#include "autograd/variable.hpp"
#include "comm/process_group.hpp"

namespace lockstep::tensor_parallel {

using autograd::Variable;
using Group = comm::ProcessGroup;

/// The input, for layers of which each rank has some columns. @param input  Whole.
/// @return  The same elements. @cost  Backward: one all-reduce.
[[nodiscard]] Variable copy_to_ranks(const Variable& input, Group& group);

/// The sum of what layers of which each rank has some rows have computed. @param partial  Of one shape on all ranks.
/// @return  Whole. @cost  Forward: one all-reduce.
[[nodiscard]] Variable sum_over_ranks(const Variable& partial, Group& group);

/// copy_to_ranks() of rows that ranks divide among themselves.
/// @param input  [R/t, C]. @return  [R, C]. @cost  Forward: one all-gather. Backward: one reduce-scatter.
[[nodiscard]] Variable gather_rows(const Variable& input, Group& group);

/// sum_over_ranks(), of which each rank keeps its rows only.
/// @param partial  [..., C], R rows in all. @return  [R/t, C].
/// @throws ContractError  t does not divide R. @cost  Forward: one reduce-scatter. Backward: one all-gather.
[[nodiscard]] Variable scatter_sum(const Variable& partial, Group& group);

/// For writers of operations: the rows of all ranks, [R, C] of [R/t, C].
/// @param tag  Of the collective, for messages; here and below.
[[nodiscard]] Tensor gathered(const Tensor& rows, Group& group, std::string_view tag);
/// The sum over the ranks, of which this one gets its rows: [R/t, C] of R rows.
/// @throws ContractError  t does not divide R.
[[nodiscard]] Tensor scattered(const Tensor& partial, Group& group, std::string_view tag);

}  // namespace lockstep::tensor_parallel
