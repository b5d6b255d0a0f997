#pragma once
/// @file
/// A dense, row-major, contiguous array of one element type on one device.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "base/dtype.hpp"
#include "device/device.hpp"
#include "device/storage.hpp"
#include "tensor/shape.hpp"

namespace lockstep {

/// A view of a Storage with shape and type. Copying a Tensor copies the view, not the elements (as in PyTorch).
/// Always contiguous. A default-constructed Tensor is undefined: no storage, is_defined() is false.
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised elements. @throws Error  Out of memory. @throws ContractError  More bytes than an int64 counts.
  [[nodiscard]] static Tensor empty(const Shape& shape, DType dtype = DType::kFloat32, Device device = {});
  [[nodiscard]] static Tensor zeros(const Shape& shape, DType dtype = DType::kFloat32, Device device = {});
  /// Elements of one value, rounded to float32 if that is `dtype`.
  /// @param dtype  float32, float64, int32 or int64. @throws ContractError  Another type, or an integer type that has
  /// no
  ///               such value: nothing is truncated.
  [[nodiscard]] static Tensor full(const Shape& shape, double value, DType dtype = DType::kFloat32, Device device = {});
  /// full() of 1.
  [[nodiscard]] static Tensor ones(const Shape& shape, DType dtype = DType::kFloat32, Device device = {});
  /// Elements copied from `values` in row-major order. @throws ContractError  values.size() is not shape.count().
  template <typename T>
  [[nodiscard]] static Tensor from(std::span<const T> values, const Shape& shape, Device device = {});
  /// A view into existing storage. @param byte_offset  A multiple of the element size.
  /// @throws ContractError  The view does not fit the storage.
  [[nodiscard]] static Tensor view_of(std::shared_ptr<Storage> storage, std::size_t byte_offset, const Shape& shape,
                                      DType dtype);

  /// False for a default-constructed tensor.
  [[nodiscard]] bool is_defined() const noexcept { return storage_ != nullptr; }
  /// Outermost first.
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Device device() const noexcept { return storage_ ? storage_->device() : Device{}; }
  /// 0 if undefined.
  [[nodiscard]] std::int64_t count() const noexcept { return is_defined() ? shape_.count() : 0; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return count() * static_cast<std::int64_t>(bytes_of(dtype_)); }
  /// Shared with views and copies; null if undefined.
  [[nodiscard]] const std::shared_ptr<Storage>& storage() const noexcept { return storage_; }
  /// Of the first element in storage().
  [[nodiscard]] std::size_t byte_offset() const noexcept { return byte_offset_; }

  /// Address of the first element, on its device, for reading and writing.
  [[nodiscard]] void* data() const noexcept { return storage_ ? storage_->data() + byte_offset_ : nullptr; }
  /// For reading only: keeps values derived from the elements valid (Storage::write_accesses()).
  [[nodiscard]] const void* const_data() const noexcept {
    return storage_ ? storage_->const_data() + byte_offset_ : nullptr;
  }

  /// The elements as host memory, [count].
  /// @throws ContractError  Not on the CPU, or T is not the element type.
  template <typename T>
  [[nodiscard]] std::span<T> span() const;

  /// The only element of a one-element tensor, copied to the host: blocks until it is computed.
  /// @throws ContractError  Not one element, or not float32, float64, int32 or int64. An int64 beyond 2^53 is rounded.
  [[nodiscard]] double item() const;

  /// The same elements in another shape. @throws ContractError  The counts differ.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  /// Rows [begin, end) of the first dimension, as a view.
  [[nodiscard]] Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// A copy with its own storage.
  [[nodiscard]] Tensor clone() const;
  /// This tensor if it is on `device` already, else a copy there, in the order of the current streams.
  [[nodiscard]] Tensor to(Device device) const;
  /// Copies elements from `source`, which may be on another device; then in the order of the current streams. Blocks
  /// only if this tensor is on the CPU. @throws ContractError  Shape or dtype differ.
  void copy_from(const Tensor& source) const;
  void fill_zero() const;

 private:
  std::shared_ptr<Storage> storage_;
  std::size_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::kFloat32;
};

}  // namespace lockstep
