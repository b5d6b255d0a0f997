#include "comm/reduce.hpp"

#include <type_traits>

#include "base/error.hpp"
#include "comm/host/reduce_ops.hpp"

namespace lockstep::comm {
namespace {

template <typename T, typename Op>
void reduce_elements(T* __restrict a, const T* __restrict b, std::int64_t count, Op op) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = op(a[i], b[i]);
}

template <typename Op>
void reduce_elements(BFloat16* __restrict a, const BFloat16* __restrict b, std::int64_t count, Op op) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = to_bfloat16(op(to_float(a[i]), to_float(b[i])));
}

template <typename T>
void reduce_typed(void* accumulator, const void* operand, std::int64_t count, ReduceOp op) {
  using Ring = Wrapping<T>;
  auto* wrapping = static_cast<Ring*>(accumulator);
  const auto* wrapping_operand = static_cast<const Ring*>(operand);
  auto* ordered = static_cast<T*>(accumulator);
  const auto* ordered_operand = static_cast<const T*>(operand);
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return reduce_elements(wrapping, wrapping_operand, count, Add{});
    case ReduceOp::kProduct:
      return reduce_elements(wrapping, wrapping_operand, count, Multiply{});
    case ReduceOp::kMin:
      return reduce_elements(ordered, ordered_operand, count, Minimum{});
    case ReduceOp::kMax:
      return reduce_elements(ordered, ordered_operand, count, Maximum{});
  }
}

template <typename T>
void divide_elements(T* values, std::int64_t count, T divisor) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] / divisor;
}

void divide_elements(BFloat16* values, std::int64_t count, float divisor) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = to_bfloat16(to_float(values[i]) / divisor);
}

}  // namespace

void require_reducible(std::string_view what, DType dtype) {
  const bool is_for_copying = dtype == DType::kUInt8 || dtype == DType::kFloat16;
  require(!is_for_copying, what, ": ", dtype, " cannot be reduced: use float32, float64, bfloat16, int32 or int64");
}

void reduce_into(void* accumulator, const void* operand, std::int64_t count, DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::kFloat32:
      return reduce_typed<float>(accumulator, operand, count, op);
    case DType::kFloat64:
      return reduce_typed<double>(accumulator, operand, count, op);
    case DType::kBFloat16:
      return reduce_typed<BFloat16>(accumulator, operand, count, op);
    case DType::kInt32:
      return reduce_typed<std::int32_t>(accumulator, operand, count, op);
    case DType::kInt64:
      return reduce_typed<std::int64_t>(accumulator, operand, count, op);
    case DType::kUInt8:
    case DType::kFloat16:
      break;
  }
  require_reducible("reduce_into", dtype);
}

void finish_mean(void* values, std::int64_t count, DType dtype, ReduceOp op, int world_size) {
  if (op != ReduceOp::kMean || world_size == 1) return;
  switch (dtype) {
    case DType::kFloat32:
      return divide_elements(static_cast<float*>(values), count, static_cast<float>(world_size));
    case DType::kFloat64:
      return divide_elements(static_cast<double*>(values), count, static_cast<double>(world_size));
    case DType::kBFloat16:
      return divide_elements(static_cast<BFloat16*>(values), count, static_cast<float>(world_size));
    case DType::kInt32:
      return divide_elements(static_cast<std::int32_t*>(values), count, world_size);
    case DType::kInt64:
      return divide_elements(static_cast<std::int64_t*>(values), count, std::int64_t{world_size});
    case DType::kUInt8:
    case DType::kFloat16:
      break;
  }
  require_reducible("finish_mean", dtype);
}

}  // namespace lockstep::comm
