#pragma once
/// @file
/// The arguments of a kernel: views of memory, and the stream it runs on. Plain values without tensors, so that device
/// code compiles without them.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/dtype.hpp"
#include "kernels/dropout_rows.hpp"

struct CUstream_st;  // what CUDA's cudaStream_t points to

namespace lockstep::kernels {

/// Elements in the memory of a device or the host, as a row-major matrix without gaps. Aligned only to an element: a
/// view may begin anywhere in a bucket.
template <typename Void>
struct BasicArray {
  Void* data = nullptr;      ///< Null for an undefined tensor.
  std::int64_t rows = 0;     ///< Product of all dimensions but the last; 1 for a scalar or vector.
  std::int64_t columns = 0;  ///< Last dimension; 1 for a scalar.
  DType dtype = DType::kFloat32;

  /// False if an optional tensor is not given.
  [[nodiscard]] constexpr bool is_defined() const noexcept { return data != nullptr; }
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return rows * columns; }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(count()) * bytes_of(dtype);
  }
  /// The address as T* (const if the array is only read); T is not checked.
  template <typename T>
  [[nodiscard]] auto as() const noexcept {
    return static_cast<std::conditional_t<std::is_const_v<Void>, const T, T>*>(data);
  }
};

/// An array that a kernel only reads.
using ConstArray = BasicArray<const void>;

/// An array that a kernel writes.
struct Array : BasicArray<void> {
  /// The same elements, only read.
  [[nodiscard]] constexpr operator ConstArray() const noexcept { return {data, rows, columns, dtype}; }
};

/// A DropoutMask (kernels/types.hpp) with sample ids in the memory of the arrays. Element e of sample s is dropped if
/// word w of philox4x32(key, s, 16 g + n) is below probability * 2^32, with e = 64 g + 16 w + n; a kept one is
/// multiplied by 1 / (1 - probability). If the tensor is only a part of the one that the mask is drawn for, the indices
/// are those of the whole.
struct Dropout {
  float probability = 0.0F;                  ///< In [0, 1); 0: no dropout.
  std::uint64_t key = 0;                     ///< From dropout_key().
  const std::int64_t* sample_ids = nullptr;  ///< [samples]; null without dropout.
  std::int64_t samples = 0;                  ///< B.
  std::int64_t first_element = 0;            ///< Index of each sample's first element.
  DropoutRows rows = {};                     ///< For dropout: the tensor's rows. None: each is a sample.

  /// False: dropout changes nothing.
  [[nodiscard]] constexpr bool is_active() const noexcept { return probability > 0.0F; }
};

/// Temporary device memory of one operation.
class DeviceScratch {
 public:
  /// Uninitialised, aligned to 256 bytes, valid for everything that the operation enqueues on its stream.
  /// @throws Error  Out of memory.
  [[nodiscard]] virtual void* take_bytes(std::size_t bytes) = 0;
  /// Room for `count` elements.
  template <typename T>
  [[nodiscard]] T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }

 protected:
  DeviceScratch() = default;
  ~DeviceScratch() = default;
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;
};

/// Where kernels record an index that is out of range, since a kernel cannot throw. Each word holds the minimum of
/// (position << 32 | value as 32 bits), by an integer atomicMin; the host reads them when it next synchronizes.
struct DeviceFaults {
  static constexpr unsigned long long kNone = ~0ULL;
  unsigned long long token;  ///< From embeddings: position is b T + t. Such a row counts as zeros and gets no gradient.
  unsigned long long target;  ///< From losses: position is the row. Such a row counts as an ignored one.
};

class AlgorithmChooser;  // kernels/algorithm_chooser.hpp

/// The stream and memory of one call of a kernel. On the CPU all members keep their defaults.
struct Context {
  CUstream_st* stream = nullptr;     ///< Everything goes to this stream; nothing waits on the host.
  int device = 0;                    ///< Current for the calling thread.
  DeviceScratch* scratch = nullptr;  ///< Never null on a device.
  DeviceFaults* faults = nullptr;    ///< Device memory; never null on a device.
  /// Chooses algorithms for matrix products; null: the library's suggestion is used.
  AlgorithmChooser* algorithms = nullptr;
};

}  // namespace lockstep::kernels
