#include "tensor/tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "device/copy.hpp"

namespace lockstep {

namespace {

Place place_of(const Tensor& tensor) { return {tensor.data(), tensor.device()}; }
// Calls function.operator()<T>() for the type of numbers that users handle as such.
template <typename Function>
void on_number_type(std::string_view caller, DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kFloat32:
      return function.template operator()<float>();
    case DType::kFloat64:
      return function.template operator()<double>();
    case DType::kInt32:
      return function.template operator()<std::int32_t>();
    case DType::kInt64:
      return function.template operator()<std::int64_t>();
    case DType::kBFloat16:
    case DType::kFloat16:
    case DType::kUInt8:
      break;
  }
  require(false, caller, " is for float32, float64, int32 and int64, not for ", dtype);
}

Place place_to_read(const Tensor& tensor) { return {const_cast<void*>(tensor.const_data()), tensor.device()}; }

std::size_t byte_count(const Shape& shape, DType dtype) {
  std::int64_t bytes = 0;
  require(!__builtin_mul_overflow(shape.count(), static_cast<std::int64_t>(bytes_of(dtype)), &bytes), "a tensor of ",
          dtype, " ", shape, " has more bytes than can be counted");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  return view_of(Storage::allocate(byte_count(shape, dtype), device), 0, shape, dtype);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  tensor.fill_zero();
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  const Tensor host = empty(shape, dtype);
  on_number_type("full()", dtype, [&]<typename T>() {
    if constexpr (std::integral<T>) {
      const double bound = std::ldexp(1.0, 8 * sizeof(T) - 1);
      require(value == std::trunc(value) && value >= -bound && value < bound, "full() of ", dtype, " with the value ",
              value);
    }
    std::ranges::fill(host.span<T>(), static_cast<T>(value));
  });
  return host.to(device);
}

Tensor Tensor::ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }

template <typename T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape, Device device) {
  require(static_cast<std::int64_t>(values.size()) == shape.count(), values.size(), " values do not fill shape ",
          shape);
  Tensor tensor = empty(shape, dtype_of<T>, device);
  copy_memory(place_of(tensor), {const_cast<T*>(values.data()), Device{}}, values.size_bytes());  // only read
  return tensor;
}

Tensor Tensor::view_of(std::shared_ptr<Storage> storage, std::size_t byte_offset, const Shape& shape, DType dtype) {
  require(storage != nullptr, "a tensor of shape ", shape, " needs a storage");
  const std::size_t bytes = byte_count(shape, dtype);
  require(byte_offset % bytes_of(dtype) == 0, "byte offset ", byte_offset, " is not a multiple of an element of ",
          dtype);
  require(byte_offset <= storage->bytes() && bytes <= storage->bytes() - byte_offset, "a view of ", bytes,
          " bytes at offset ", byte_offset, " does not fit a storage of ", storage->bytes(), " bytes");
  Tensor tensor;
  tensor.storage_ = std::move(storage);
  tensor.byte_offset_ = byte_offset;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  return tensor;
}

template <typename T>
std::span<T> Tensor::span() const {
  require(is_defined(), "the tensor is undefined");
  require(device().is_cpu(), "elements on ", device().name(), " are no host memory; copy them first");
  require(dtype_ == dtype_of<T>, "the elements are ", dtype_, ", not ", dtype_of<T>);
  return {static_cast<T*>(data()), static_cast<std::size_t>(count())};
}

double Tensor::item() const {
  require(is_defined() && count() == 1, "item() needs one element; the shape is ", shape_);
  const Tensor host = to(Device{});
  double element = 0;
  on_number_type("item()", dtype_, [&]<typename T>() { element = static_cast<double>(host.span<T>()[0]); });
  return element;
}

Tensor Tensor::reshape(const Shape& shape) const {
  require(shape.count() == count(), "shape ", shape_, " has not as many elements as ", shape);
  Tensor tensor = *this;
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  require(shape_.rank() >= 1 && begin >= 0 && begin <= end && end <= shape_[0], "rows [", begin, ", ", end,
          ") of shape ", shape_);
  std::array<std::int64_t, Shape::kMaxRank> dimensions{};
  std::ranges::copy(shape_.dimensions(), dimensions.begin());
  dimensions[0] = end - begin;
  std::int64_t row_count = 1;
  for (int axis = 1; axis < shape_.rank(); ++axis) row_count *= shape_[axis];
  Tensor tensor = *this;
  tensor.shape_ = Shape(std::span<const std::int64_t>(dimensions.data(), static_cast<std::size_t>(shape_.rank())));
  tensor.byte_offset_ += static_cast<std::size_t>(begin * row_count) * bytes_of(dtype_);
  return tensor;
}

Tensor Tensor::clone() const {
  require(is_defined(), "the tensor is undefined");
  Tensor copy = empty(shape_, dtype_, device());
  copy.copy_from(*this);
  return copy;
}

Tensor Tensor::to(Device device) const {
  require(is_defined(), "the tensor is undefined");
  if (device == this->device()) return *this;
  Tensor copy = empty(shape_, dtype_, device);
  copy.copy_from(*this);
  return copy;
}

void Tensor::copy_from(const Tensor& source) const {
  require(shape_ == source.shape_ && dtype_ == source.dtype_, "cannot copy ", source.dtype_, " ", source.shape_,
          " into ", dtype_, " ", shape_);
  copy_memory(place_of(*this), place_to_read(source), static_cast<std::size_t>(bytes()));
}

void Tensor::fill_zero() const {
  require(is_defined(), "the tensor is undefined");
  zero_memory(place_of(*this), static_cast<std::size_t>(bytes()));
}

#define LOCKSTEP_INSTANTIATE(T)                                              \
  template Tensor Tensor::from<T>(std::span<const T>, const Shape&, Device); \
  template std::span<T> Tensor::span<T>() const;

LOCKSTEP_INSTANTIATE(float)
LOCKSTEP_INSTANTIATE(double)
LOCKSTEP_INSTANTIATE(BFloat16)
LOCKSTEP_INSTANTIATE(Float16)
LOCKSTEP_INSTANTIATE(std::int32_t)
LOCKSTEP_INSTANTIATE(std::int64_t)
LOCKSTEP_INSTANTIATE(std::uint8_t)
#undef LOCKSTEP_INSTANTIATE

}  // namespace lockstep
