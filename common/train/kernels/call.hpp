#pragma once
/// @file
/// How a public function checks its arguments and calls a kernel of their device. Internal to this module.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "kernels/algorithm_chooser.hpp"
#include "kernels/operations.hpp"
#include "kernels/vocabulary_part.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// Size of the last dimension; 1 for a scalar.
[[nodiscard]] inline std::int64_t columns_of(const Tensor& tensor) {
  return tensor.shape().rank() == 0 ? 1 : tensor.shape()[-1];
}

/// Product of all dimensions but the last.
[[nodiscard]] inline std::int64_t rows_of(const Tensor& tensor) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < tensor.shape().rank(); ++axis) rows *= tensor.shape()[axis];
  return rows;
}

/// In which types an operation's tensors may be stored.
enum class Types {
  kAll,          ///< Any; the operation has its own check, if it needs one.
  kActivations,  ///< float32 and bfloat16; float64 on the CPU, float16 on devices.
  kWide,         ///< float32; float64 on the CPU.
};

/// A tensor as a kernel's argument.
[[nodiscard]] Array array_of(const Tensor& tensor);
/// The same for a kernel that only reads it: keeps values derived from the elements valid.
[[nodiscard]] ConstArray const_array_of(const Tensor& tensor);

/// One call of an operation: its checks, the kernels of its tensors' device, the kernel's scratch memory, and the
/// numbers that it returns. Messages begin with the operation's name.
class Call final : private DeviceScratch {
 public:
  /// @param first   Decides where the operation runs; has one of `types`. @param others  May be undefined.
  /// @throws ContractError  `first` is undefined, the device does not compute in its type, or not all are on it.
  template <typename... Tensors>
  Call(Types types, std::string_view operation, const Tensor& first, const Tensors&... others)
      : Call(operation, first, types) {
    (require_same_device(first, others), ...);
  }
  /// With Types::kActivations.
  template <typename... Tensors>
  Call(std::string_view operation, const Tensor& first, const Tensors&... others)
      : Call(Types::kActivations, operation, first, others...) {}

  [[nodiscard]] std::string_view operation() const noexcept { return operation_; }
  [[nodiscard]] bool is_on_cpu() const noexcept { return device_.is_cpu(); }

  /// @throws ContractError  They are on different devices. An undefined `other` is on all.
  void require_same_device(const Tensor& first, const Tensor& other) const;
  /// @throws ContractError  Another dtype or number of elements than `like`, or undefined.
  void require_like(std::string_view what, const Tensor& tensor, const Tensor& like) const;
  /// @throws ContractError  Not `count` elements of `dtype`.
  void require_count(std::string_view what, const Tensor& tensor, std::int64_t count, DType dtype) const;

  /// `part`, with the size of the whole vocabulary.
  /// @param count  Tokens that the tensor is about. @throws ContractError  They are not in the vocabulary.
  [[nodiscard]] VocabularyPart part_of_vocabulary(const VocabularyPart& part, std::int64_t count) const;

  /// Calls a kernel of the device, with tensors as arrays.
  template <typename... Parameters, typename... Arguments>
  void run(void (*Operations::*kernel)(Parameters...), const Arguments&... arguments) const {
    (operations_->*kernel)(argument(arguments)..., context_);
  }

  /// A kernel's form of the mask of attention. @throws ContractError  It does not fit `samples` samples.
  [[nodiscard]] Dropout attention_dropout(const DropoutMask& mask, std::int64_t samples) const;
  /// A kernel's form of the mask of a dropout of `tensor`. @throws ContractError  It does not fit.
  [[nodiscard]] Dropout dropout(const DropoutMask& mask, const Tensor& tensor) const;

  /// Room for `count` numbers that kernels will write.
  [[nodiscard]] double* results(std::size_t count);
  /// The numbers in results(). On a device after the work on the stream so far: blocks the host.
  /// @throws ContractError  A kernel since the last read was given a token or target out of range.
  [[nodiscard]] std::vector<double> read_results();

 private:
  // Becomes the kind of array that the kernel's parameter has.
  struct TensorArgument {
    const Tensor& tensor;
    operator Array() const { return array_of(tensor); }
    operator ConstArray() const { return const_array_of(tensor); }
  };
  static TensorArgument argument(const Tensor& tensor) { return {tensor}; }
  template <typename T>
  static const T& argument(const T& value) {
    return value;
  }

  Call(std::string_view operation, const Tensor& first, Types types);
  void* take_bytes(std::size_t bytes) override;
  [[nodiscard]] Dropout with_sample_ids(const DropoutMask& mask) const;

  std::string_view operation_;
  Device device_;
  const Operations* operations_;
  Context context_;
  std::shared_ptr<AlgorithmChooser> algorithms_;
  std::vector<std::shared_ptr<Storage>> scratch_;
  double* results_ = nullptr;
  std::size_t result_count_ = 0;
};

}  // namespace lockstep::kernels
