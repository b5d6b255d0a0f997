#pragma once
/// @file
/// Operations on parts and rearrangements of tensors, and on tensors of different shapes. Common rules:
/// kernels/ops.hpp. Tensors have their elements row after row; a StridedView says which of them, and in which order.
#include <cstdint>

#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// All elements of a tensor of this shape, in the order in which they are stored.
[[nodiscard]] StridedView view_of(const Shape& shape);

/// Elements [begin, begin + length) of dimension `axis` of a tensor of this shape.
/// @throws ContractError  There is no such axis or range.
[[nodiscard]] StridedView narrowed_view(const Shape& shape, int axis, std::int64_t begin, std::int64_t length);

/// A tensor of this shape with dimensions `axis0` and `axis1` exchanged.
/// @throws ContractError  There is no such axis.
[[nodiscard]] StridedView transposed_view(const Shape& shape, int axis0, int axis1);

/// A tensor of shape `from` repeated to shape `to` by PyTorch's rules: shapes are aligned at the last dimension, and
/// sizes of 1 are repeated.
/// @throws ContractError  A size is neither 1 nor that of `to`, or `from` has more dimensions.
[[nodiscard]] StridedView broadcast_view(const Shape& from, const Shape& to);

/// out[to(i)] = input[from(i)], or added, for every index i: transposes, slices, and what puts slices together.
/// @param out    Elements that `to` does not name stay as they are.
/// @param to     Names each element at most once.
/// @param write  Overwrite, or add to `out`.
/// @param input  The same dtype; does not overlap `out`.
/// @param from   The same sizes as `to`.
/// @throws ContractError  The sizes differ, or a view names elements that its tensor does not have.
void copy_view(const Tensor& out, const StridedView& to, Write write, const Tensor& input, const StridedView& from);

/// out = a + b, each repeated to the shape of `out` (broadcast_view()).
void add_broadcast(const Tensor& out, const Tensor& a, const Tensor& b);

/// out = a * b, or added, each repeated to the shape of `out` (broadcast_view()).
/// @param out    May be `a` or `b` where that has its shape and `write` is kOverwrite.
/// @param write  Overwrite, or add to `out`.
/// @param a      As many dimensions as `out` or fewer.
/// @param b      As many dimensions as `out` or fewer.
void multiply(const Tensor& out, Write write, const Tensor& a, const Tensor& b);

/// The sum over dimension `axis`, or its sum added to what is there. bfloat16 elements are added in float32.
/// @param out    As `input` without that dimension, or with size 1 there. The same dtype.
/// @param write  Overwrite, or add to `out`.
/// @param input  Any shape of at least one dimension.
/// @param axis   Negative ones count from the end.
void sum_axis(const Tensor& out, Write write, const Tensor& input, int axis);

}  // namespace lockstep::kernels
