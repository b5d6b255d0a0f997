#pragma once
/// @file
/// Element types. They are defined here, below both `comm` and `tensor`, because a collective moves typed elements
/// without depending on tensors.
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <type_traits>

namespace lockstep {

/// The type of one element of a buffer or tensor. The values appear on the wire and in files: never renumber them.
enum class DType : std::uint8_t {
  kFloat32 = 0,
  kFloat64 = 1,
  kBFloat16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUInt8 = 5,
  kFloat16 = 6,
};

[[nodiscard]] constexpr std::size_t bytes_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kBFloat16:
    case DType::kFloat16:
      return 2;
    case DType::kUInt8:
      return 1;
  }
  return 0;
}

/// True for bfloat16 and float16, the 16-bit types in which mixed precision stores activations.
[[nodiscard]] constexpr bool is_reduced_float(DType dtype) noexcept {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

/// "float32", "float64", "bfloat16", "int32", "int64", "uint8", "float16".
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;
std::ostream& operator<<(std::ostream& out, DType dtype);

/// A 16-bit float with float32's exponent range: the upper half of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;  ///< Sign, 8 bits of exponent, 7 of mantissa.
};

/// A 16-bit float with more digits than BFloat16 but a narrower range, up to 65504: IEEE 754's binary16.
struct Float16 {
  std::uint16_t bits = 0;  ///< Sign, 5 bits of exponent, 10 of mantissa.
};

/// The DType of a C++ element type: `dtype_of<float>`.
template <typename T>
inline constexpr DType dtype_of = [] {
  if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBFloat16;
  else if constexpr (std::is_same_v<T, Float16>)
    return DType::kFloat16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::kInt32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::kInt64;
  else {
    static_assert(std::is_same_v<T, std::uint8_t>,
                  "no DType for this type: take float, double, BFloat16, Float16, int32_t, int64_t or uint8_t");
    return DType::kUInt8;
  }
}();

}  // namespace lockstep
