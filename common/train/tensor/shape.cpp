#include "tensor/shape.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep {

Shape::Shape(std::initializer_list<std::int64_t> dimensions)
    : Shape(std::span<const std::int64_t>(dimensions.begin(), dimensions.size())) {}

Shape::Shape(std::span<const std::int64_t> dimensions) : rank_(static_cast<int>(dimensions.size())) {
  require(dimensions.size() <= kMaxRank, "a shape has at most ", kMaxRank, " dimensions, not ", dimensions.size());
  for (const std::int64_t dimension : dimensions)
    require(dimension >= 0, "a dimension is negative: ", dimension, "; none is inferred from the others");
  std::copy(dimensions.begin(), dimensions.end(), dimensions_.begin());
  std::int64_t product = 1;
  const bool is_too_large = std::ranges::find(dimensions, 0) == dimensions.end() &&
                            std::ranges::any_of(dimensions, [&product](std::int64_t dimension) {
                              return __builtin_mul_overflow(product, dimension, &product);
                            });
  require(!is_too_large, "a shape ", *this, " has more elements than can be counted");
}

std::int64_t Shape::operator[](int axis) const {
  const int index = axis < 0 ? axis + rank_ : axis;
  require(index >= 0 && index < rank_, "there is no axis ", axis, " in a shape with ", rank_, " dimensions");
  return dimensions_[static_cast<std::size_t>(index)];
}

std::int64_t Shape::count() const noexcept {
  std::uint64_t product = 1;  // of several dimensions before one of 0, may overflow
  for (const std::int64_t dimension : dimensions()) product *= static_cast<std::uint64_t>(dimension);
  return static_cast<std::int64_t>(product);
}

bool Shape::operator==(const Shape& other) const noexcept {
  return std::ranges::equal(dimensions(), other.dimensions());
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t dimension : shape.dimensions()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dimension);
  }
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

}  // namespace lockstep
