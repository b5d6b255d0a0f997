#pragma once
/// @file
/// Element types as named in safetensors files. Files of other writers may hold types that no Tensor has: truth values
/// (BOOL) of attention masks, which can be read, and others, which are only listed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace lockstep::checkpoint {

/// The types that a file may hold. Those up to kBool can be read, and those with a DType can be written too.
enum class StoredType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kU8,
  kBool,
  kI8,
  kI16,
  kU16,
  kU32,
  kU64,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kC64
};

/// Whether elements of that type can be read into a Tensor. A file may also hold tensors of other types, unless they
/// are requested.
[[nodiscard]] bool is_readable(StoredType type) noexcept;

/// Size of one element in bytes; a BOOL takes one.
[[nodiscard]] std::size_t bytes_of(StoredType type) noexcept;

/// "F32", "BOOL".
[[nodiscard]] std::string_view name_of(StoredType type) noexcept;

/// "float32", "bool": the word for messages, as name_of(DType) if the type has one, else as name_of(StoredType).
[[nodiscard]] std::string_view word_for(StoredType type) noexcept;

/// The type of that name; nothing if there is none.
[[nodiscard]] std::optional<StoredType> parse_stored_type(std::string_view name) noexcept;

/// "F64, F32, ...": for messages.
[[nodiscard]] std::string stored_type_names();

/// The type in which such tensors are written.
[[nodiscard]] StoredType stored_type_of(DType dtype) noexcept;

/// The type that elements are read into without loss: their own DType; BOOL uint8. @pre  is_readable(type).
[[nodiscard]] DType natural_dtype(StoredType type) noexcept;

/// Whether `dtype` can represent every value of `type`, so that reading loses nothing: F16 and BF16 as float32 or
/// float64, F32 as float64, BOOL as uint8, and each type as itself.
[[nodiscard]] bool widens_to(StoredType type, DType dtype) noexcept;

/// Copies elements, converting them if the types differ.
/// @param from  [destination.count() x bytes_of(type)], not aligned.
/// @param destination  On the host.
/// @pre  widens_to(type, destination.dtype()).
void widen_into(const Tensor& destination, StoredType type, std::span<const std::byte> from);

}  // namespace lockstep::checkpoint
