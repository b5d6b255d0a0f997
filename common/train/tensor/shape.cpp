#include "tensor/shape.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep {

Shape::Shape(std::initializer_list<std::int64_t> dimensions)
    : Shape(std::span<const std::int64_t>(dimensions.begin(), dimensions.size())) {}

Shape::Shape(std::span<const std::int64_t> dimensions) : rank_(static_cast<int>(dimensions.size())) {
  require(dimensions.size() <= kMaxRank, "a shape has at most ", kMaxRank, " dimensions, not ", dimensions.size());
  for (const std::int64_t dimension : dimensions) require(dimension >= 0, "a dimension is negative: ", dimension);
  std::copy(dimensions.begin(), dimensions.end(), dimensions_.begin());
}

std::int64_t Shape::operator[](int axis) const {
  const int index = axis < 0 ? axis + rank_ : axis;
  require(index >= 0 && index < rank_, "there is no axis ", axis, " in a shape with ", rank_, " dimensions");
  return dimensions_[static_cast<std::size_t>(index)];
}

std::int64_t Shape::count() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t dimension : dimensions()) product *= dimension;
  return product;
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
