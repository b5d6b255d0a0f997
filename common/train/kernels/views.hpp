#pragma once
/// @file
/// Operations on parts and rearrangements of tensors, and on tensors of different shapes. Common rules:
/// kernels/ops.hpp. Tensors are stored row by row; a StridedView selects elements and their order.
#include <cstdint>

#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// All elements of a tensor of this shape, in storage order.
[[nodiscard]] StridedView view_of(const Shape& shape);

/// Elements [begin, begin + length) of dimension `axis` of a tensor of this shape.
/// @throws ContractError  There is no such axis or range.
[[nodiscard]] StridedView narrowed_view(const Shape& shape, int axis, std::int64_t begin, std::int64_t length);

/// A tensor of this shape with dimensions `axis0` and `axis1` exchanged.
/// @throws ContractError  There is no such axis.
[[nodiscard]] StridedView transposed_view(const Shape& shape, int axis0, int axis1);

/// A tensor of shape `from` broadcast to shape `to` by PyTorch's rules: shapes are aligned at the last dimension, and
/// sizes of 1 are repeated.
/// @throws ContractError  A size is neither 1 nor that of `to`, or `from` has more dimensions.
[[nodiscard]] StridedView broadcast_view(const Shape& from, const Shape& to);

/// out[to(i)] = input[from(i)], or added, for every index i: for transposes, slices, and concatenation.
/// @param out    Elements outside `to` stay as they are.
/// @param to     Names each element at most once.
/// @param input  The same dtype; does not overlap `out`.
/// @param from   The same sizes as `to`.
/// @throws ContractError  The sizes differ, or a view names elements outside its tensor.
void copy_view(const Tensor& out, const StridedView& to, Write write, const Tensor& input, const StridedView& from);

/// out = a + b, each broadcast to the shape of `out` (broadcast_view()).
void add_broadcast(const Tensor& out, const Tensor& a, const Tensor& b);

/// out = a * b, or added, each broadcast to the shape of `out` (broadcast_view()).
/// @param out    May be `a` or `b` if that has its shape and `write` is kOverwrite.
/// @param a      As many dimensions as `out` or fewer.
/// @param b      As many dimensions as `out` or fewer.
void multiply(const Tensor& out, Write write, const Tensor& a, const Tensor& b);

/// Overwrites `out` with the sum over dimension `axis`, or adds it. bfloat16 elements are added in float32.
/// @param out    Shaped as `input` without that dimension, or with size 1 there. The same dtype.
/// @param input  Any shape of at least one dimension.
/// @param axis   Negative ones count from the end.
void sum_axis(const Tensor& out, Write write, const Tensor& input, int axis);

}  // namespace lockstep::kernels
