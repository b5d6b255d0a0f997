// Functions called by code compiled with -fsanitize=bounds,alignment,signed-integer-overflow if a check fails; the
// place is an argument. Both compilers pass the structures of LLVM compiler-rt, lib/ubsan/ubsan_value.h and
// ubsan_handlers.h.
#include <cstdint>
#include <string>

#include "emulator/checker/checker.hpp"

namespace {

using lockstep::emulator::FindingKind;
using lockstep::emulator::checker::Checker;

struct SourceLocation {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};
struct TypeDescriptor {
  std::uint16_t kind;  // 0: integer
  std::uint16_t info;  // of an integer: bit 0 is_signed, the others log2 of its bits
  char name[1];        // the rest follows
};
struct OutOfBounds {
  SourceLocation place;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};
struct Overflow {
  SourceLocation place;
  const TypeDescriptor* type;
};
struct TypeMismatch {
  SourceLocation place;
  const TypeDescriptor* type;
  unsigned char log_alignment;
  unsigned char kind;  // 1: a store
};

// Integers of up to 64 bits are passed by value.
std::string integer_text(const TypeDescriptor& type, std::uintptr_t value) {
  const unsigned bits = 1U << (type.info >> 1U);
  if (type.kind != 0 || bits > 64) return "?";
  if ((type.info & 1U) == 0) return std::to_string(value);
  const unsigned unused = 64 - bits;
  return std::to_string(static_cast<std::int64_t>(value << unused) >> unused);
}

void overflow(const Overflow& data, const std::string& operation) {
  Checker* const checker = Checker::running;
  if (checker == nullptr) return;
  checker->compiler_found(FindingKind::kIntegerOverflow, "computed", {data.place.file, data.place.line},
                          operation + " does not fit into the type " + data.type->name);
}

void overflow(const Overflow& data, std::uintptr_t left, const char* operation, std::uintptr_t right) {
  overflow(data, integer_text(*data.type, left) + operation + integer_text(*data.type, right));
}

void out_of_bounds(const OutOfBounds& data, std::uintptr_t index) {
  Checker* const checker = Checker::running;
  if (checker == nullptr) return;
  checker->compiler_found(
      FindingKind::kOutOfBounds, "access", {data.place.file, data.place.line},
      "index " + integer_text(*data.index, index) + " is outside of an array of type " + data.array->name);
}

void type_mismatch(const TypeMismatch& data, std::uintptr_t address) {
  Checker* const checker = Checker::running;
  const std::uintptr_t alignment = std::uintptr_t{1} << data.log_alignment;
  if (checker == nullptr || address % alignment == 0) return;  // the access itself reports null pointers
  checker->compiler_found(
      FindingKind::kMisaligned, data.kind == 1 ? "write" : "access", {data.place.file, data.place.line},
      std::string(data.type->name) + " needs an address that is a multiple of " + std::to_string(alignment));
}

}  // namespace

#define LOCKSTEP_HOOK extern "C" LOCKSTEP_EMULATOR_API void

LOCKSTEP_HOOK __ubsan_handle_out_of_bounds(const OutOfBounds* data, std::uintptr_t index) {
  out_of_bounds(*data, index);
}
LOCKSTEP_HOOK __ubsan_handle_out_of_bounds_abort(const OutOfBounds* data, std::uintptr_t index) {
  out_of_bounds(*data, index);
}
LOCKSTEP_HOOK __ubsan_handle_type_mismatch_v1(const TypeMismatch* data, std::uintptr_t address) {
  type_mismatch(*data, address);
}
LOCKSTEP_HOOK __ubsan_handle_type_mismatch_v1_abort(const TypeMismatch* data, std::uintptr_t address) {
  type_mismatch(*data, address);
}

#define LOCKSTEP_OVERFLOW_HOOK(name, operation)                                                                     \
  LOCKSTEP_HOOK __ubsan_handle_##name##_overflow(const Overflow* data, std::uintptr_t left, std::uintptr_t right) { \
    overflow(*data, left, operation, right);                                                                        \
  }                                                                                                                 \
  LOCKSTEP_HOOK __ubsan_handle_##name##_overflow_abort(const Overflow* data, std::uintptr_t left,                   \
                                                       std::uintptr_t right) {                                      \
    overflow(*data, left, operation, right);                                                                        \
  }

LOCKSTEP_OVERFLOW_HOOK(add, " + ")
LOCKSTEP_OVERFLOW_HOOK(sub, " - ")
LOCKSTEP_OVERFLOW_HOOK(mul, " * ")
LOCKSTEP_OVERFLOW_HOOK(divrem, " / ")
LOCKSTEP_HOOK __ubsan_handle_negate_overflow(const Overflow* data, std::uintptr_t value) {
  overflow(*data, "-(" + integer_text(*data->type, value) + ")");
}
LOCKSTEP_HOOK __ubsan_handle_negate_overflow_abort(const Overflow* data, std::uintptr_t value) {
  overflow(*data, "-(" + integer_text(*data->type, value) + ")");
}

#undef LOCKSTEP_HOOK
