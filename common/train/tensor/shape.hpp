#pragma once
/// @file
/// Sizes of a tensor, outermost first.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

namespace lockstep {

/// Up to four dimensions; with none, a scalar of one element. A value type without allocation.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  /// @throws ContractError  More than kMaxRank dimensions, a negative one, or more elements than an int64 counts.
  Shape(std::initializer_list<std::int64_t> dimensions);
  /// @throws ContractError  As above.
  explicit Shape(std::span<const std::int64_t> dimensions);

  /// 0 for a scalar.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// Size of dimension `axis`; negative axes count from the end. @throws ContractError  Out of range.
  [[nodiscard]] std::int64_t operator[](int axis) const;
  /// The product of the dimensions; 1 for a scalar.
  [[nodiscard]] std::int64_t count() const noexcept;
  [[nodiscard]] std::span<const std::int64_t> dimensions() const noexcept {
    return {dimensions_.data(), static_cast<std::size_t>(rank_)};
  }
  bool operator==(const Shape& other) const noexcept;

 private:
  std::array<std::int64_t, kMaxRank> dimensions_{};
  int rank_ = 0;
};

/// "[2, 3, 4]".
[[nodiscard]] std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace lockstep
