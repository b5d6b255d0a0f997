#include "checkpoint/stored_type.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bfloat16.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"

namespace lockstep::checkpoint {

namespace {

struct TypeFacts {
  StoredType type;
  std::string_view name;
  std::size_t bytes;
  DType natural;
};
// In the order of the enumeration.
constexpr DType kNone = DType::kUInt8;  // for a type that is not read
constexpr std::array<TypeFacts, 17> kTypes = {{{StoredType::kF64, "F64", 8, DType::kFloat64},
                                               {StoredType::kF32, "F32", 4, DType::kFloat32},
                                               {StoredType::kF16, "F16", 2, DType::kFloat16},
                                               {StoredType::kBF16, "BF16", 2, DType::kBFloat16},
                                               {StoredType::kI64, "I64", 8, DType::kInt64},
                                               {StoredType::kI32, "I32", 4, DType::kInt32},
                                               {StoredType::kU8, "U8", 1, DType::kUInt8},
                                               {StoredType::kBool, "BOOL", 1, DType::kUInt8},
                                               {StoredType::kI8, "I8", 1, kNone},
                                               {StoredType::kI16, "I16", 2, kNone},
                                               {StoredType::kU16, "U16", 2, kNone},
                                               {StoredType::kU32, "U32", 4, kNone},
                                               {StoredType::kU64, "U64", 8, kNone},
                                               {StoredType::kF8E4M3, "F8_E4M3", 1, kNone},
                                               {StoredType::kF8E5M2, "F8_E5M2", 1, kNone},
                                               {StoredType::kF8E8M0, "F8_E8M0", 1, kNone},
                                               {StoredType::kC64, "C64", 8, kNone}}};

const TypeFacts& facts_of(StoredType type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }

bool is_float(StoredType type) noexcept {
  return type == StoredType::kF64 || type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16;
}

// Calls convert(element) for each element; memcpy because nothing is aligned.
template <typename From, typename To, typename Convert>
void convert_each(const Tensor& destination, std::span<const std::byte> from, Convert convert) {
  const std::byte* next = from.data();
  for (To& to : destination.span<To>()) {
    From element;
    std::memcpy(&element, next, sizeof(From));
    to = static_cast<To>(convert(element));
    next += sizeof(From);
  }
}

template <typename To>
void widen_floats(const Tensor& destination, StoredType type, std::span<const std::byte> from) {
  if (type == StoredType::kF16) {
    convert_each<Float16, To>(destination, from, [](Float16 value) { return to_float(value); });
  } else if (type == StoredType::kBF16) {
    convert_each<BFloat16, To>(destination, from, [](BFloat16 value) { return to_float(value); });
  } else {
    convert_each<float, To>(destination, from, [](float value) { return value; });
  }
}

}  // namespace

std::size_t bytes_of(StoredType type) noexcept { return facts_of(type).bytes; }
std::string_view name_of(StoredType type) noexcept { return facts_of(type).name; }
DType natural_dtype(StoredType type) noexcept { return facts_of(type).natural; }

bool is_readable(StoredType type) noexcept { return type <= StoredType::kBool; }

std::string_view word_for(StoredType type) noexcept {
  if (type == StoredType::kBool) return "bool";
  return is_readable(type) ? name_of(natural_dtype(type)) : name_of(type);
}

std::optional<StoredType> parse_stored_type(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kTypes, name, &TypeFacts::name);
  return found == kTypes.end() ? std::nullopt : std::optional(found->type);
}

std::string stored_type_names() {
  std::string names;
  for (const TypeFacts& type : kTypes) names += concat(names.empty() ? "" : ", ", type.name);
  return names;
}

StoredType stored_type_of(DType dtype) noexcept {
  const auto writes = [dtype](const TypeFacts& type) { return type.natural == dtype && type.type < StoredType::kBool; };
  return std::ranges::find_if(kTypes, writes)->type;
}

bool widens_to(StoredType type, DType dtype) noexcept {
  if (!is_readable(type)) return false;
  if (natural_dtype(type) == dtype) return true;
  if (!is_float(type) || type == StoredType::kF64) return false;
  return dtype == DType::kFloat64 || (dtype == DType::kFloat32 && type != StoredType::kF32);
}

void widen_into(const Tensor& destination, StoredType type, std::span<const std::byte> from) {
  require(widens_to(type, destination.dtype()), name_of(type), " does not become ", destination.dtype(),
          " without loss");
  require(from.size() == static_cast<std::size_t>(destination.count()) * bytes_of(type), "widen_into: ", from.size(),
          " bytes of ", name_of(type), " for ", destination.shape());
  if (bytes_of(type) == bytes_of(destination.dtype())) {  // the same bits
    std::ranges::copy(from, static_cast<std::byte*>(destination.data()));
  } else if (destination.dtype() == DType::kFloat64) {
    widen_floats<double>(destination, type, from);
  } else {
    widen_floats<float>(destination, type, from);
  }
}

}  // namespace lockstep::checkpoint
