#pragma once
/// @file
/// A place in a kernel's source.

namespace lockstep::emulator {

/// A file and a line. As a default argument it names the caller's: `SourcePlace at = SourcePlace::here()`. Not
/// std::source_location, which clang 14 rejects in a default argument.
struct SourcePlace {
  const char* file = nullptr;  ///< Null if unknown.
  unsigned line = 0;           ///< From 1.

  /// The place of the call that uses this as a default argument.
  static constexpr SourcePlace here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
  /// Compares files by address (within one object file, a file's name is one literal).
  constexpr bool operator==(const SourcePlace&) const noexcept = default;
};

}  // namespace lockstep::emulator
