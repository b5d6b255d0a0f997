#include "03_nccl/measure/exact_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bfloat16.hpp"
#include "base/error.hpp"

namespace lockstep::bandwidth {
namespace {

using comm::ReduceOp;

template <typename T>
void store_as(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

template <typename T>
T load_as(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

void store(std::byte* place, DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return store_as(place, static_cast<float>(value));
    case DType::kFloat64:
      return store_as(place, value);
    case DType::kBFloat16:
      return store_as(place, to_bfloat16(static_cast<float>(value)));
    case DType::kInt32:
      return store_as(place, static_cast<std::int32_t>(value));
    case DType::kInt64:
      return store_as(place, static_cast<std::int64_t>(value));
    case DType::kUInt8:
    case DType::kFloat16:
      break;
  }
  throw ContractError(concat("collectives do not reduce ", dtype));
}

double load(const std::byte* place, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(load_as<float>(place));
    case DType::kFloat64:
      return load_as<double>(place);
    case DType::kBFloat16:
      return static_cast<double>(to_float(load_as<BFloat16>(place)));
    case DType::kInt32:
      return load_as<std::int32_t>(place);
    case DType::kInt64:
      return static_cast<double>(load_as<std::int64_t>(place));
    case DType::kUInt8:
    case DType::kFloat16:
      break;
  }
  throw ContractError(concat("collectives do not reduce ", dtype));
}

// The distance from 1 to the type's next number: the error of two roundings, each at most half of it.
double two_roundings(DType dtype) {
  if (dtype == DType::kFloat32) return 0x1p-23;
  if (dtype == DType::kFloat64) return 0x1p-52;
  return dtype == DType::kBFloat16 ? 0x1p-7 : 0;
}

double combined(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
  }
  return a + b;
}

// A well mixed word of rank and index (the finalizer of SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mixed(int rank, std::int64_t index) {
  std::uint64_t word = (static_cast<std::uint64_t>(rank) << 32U) + static_cast<std::uint64_t>(index) + 1;
  word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
  word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
  return word ^ (word >> 31U);
}

}  // namespace

ExactInputs::ExactInputs(const Exercise& exercise, int world_size) : exercise_(exercise), world_size_(world_size) {
  const std::size_t width = bytes_of(exercise.dtype);
  reduction_.resize(kPeriod * width);
  of_rank_.assign(static_cast<std::size_t>(world_size), Table(kPeriod * width));
  for (std::int64_t i = 0; i < kPeriod; ++i) {
    const std::size_t offset = static_cast<std::size_t>(i) * width;
    double result = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      const auto own = static_cast<double>(value(rank, i));
      store(&of_rank_[static_cast<std::size_t>(rank)][offset], exercise.dtype, own);
      result = rank == 0 ? own : combined(exercise.op, result, own);
    }
    if (exercise.op == ReduceOp::kMean) result /= world_size;
    store(&reduction_[offset], exercise.dtype, result);
  }
}

std::int64_t ExactInputs::value(int rank, std::int64_t index) const {
  const std::uint64_t word = mixed(rank, index);
  // Twos and ones: their product is a power of two, exact in every floating-point type. At most 24 twos, to fit int32.
  if (exercise_.op == ReduceOp::kProduct) return rank < 24 ? 1 + static_cast<std::int64_t>(word % 2) : 1;
  // bfloat16 holds all integers up to 2^8, float32 all up to 2^24.
  const std::int64_t most = exercise_.dtype == DType::kBFloat16 ? 256 / world_size_ : 1000;
  const auto drawn = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(most + 1));
  // A mean of integers truncates: a sum that P divides shows whether the scale is right.
  const bool shall_divide = exercise_.op == ReduceOp::kMean && most >= world_size_;
  return shall_divide ? drawn / world_size_ * world_size_ : drawn;
}

void ExactInputs::fill(std::span<std::byte> values, int rank, std::int64_t first) const {
  const Table& table = of_rank_.at(static_cast<std::size_t>(rank));
  std::size_t from = static_cast<std::size_t>(first % kPeriod) * bytes_of(exercise_.dtype);
  for (std::size_t done = 0; done < values.size(); from = 0) {
    const std::size_t piece = std::min(values.size() - done, table.size() - from);
    std::memcpy(&values[done], &table[from], piece);
    done += piece;
  }
}

std::optional<WrongElement> ExactInputs::difference_to_rank(std::span<const std::byte> values, int rank,
                                                            std::int64_t first) const {
  return difference(values, of_rank_.at(static_cast<std::size_t>(rank)), first, 0);
}

std::optional<WrongElement> ExactInputs::difference_to_reduction(std::span<const std::byte> values,
                                                                 std::int64_t first) const {
  const double tolerance = exercise_.op == ReduceOp::kMean ? two_roundings(exercise_.dtype) : 0;
  return difference(values, reduction_, first, tolerance);
}

std::optional<WrongElement> ExactInputs::difference(std::span<const std::byte> values, const Table& table,
                                                    std::int64_t first, double tolerance) const {
  const std::size_t width = bytes_of(exercise_.dtype);
  std::size_t from = static_cast<std::size_t>(first % kPeriod) * width;
  for (std::size_t done = 0; done < values.size(); from = 0) {
    const std::size_t piece = std::min(values.size() - done, table.size() - from);
    // Nearly all bytes are equal, and need no closer look.
    const bool is_equal = std::memcmp(&values[done], &table[from], piece) == 0;
    for (std::size_t i = 0; i < piece && !is_equal; i += width) {
      const double is = load(&values[done + i], exercise_.dtype), expected = load(&table[from + i], exercise_.dtype);
      if (std::abs(is - expected) <= tolerance * std::abs(expected)) continue;
      return WrongElement{static_cast<std::int64_t>((done + i) / width), is, expected};
    }
    done += piece;
  }
  return std::nullopt;
}

}  // namespace lockstep::bandwidth
