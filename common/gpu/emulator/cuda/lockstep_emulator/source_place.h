#pragma once
/// @file
/// Where in its source a kernel is.

namespace lockstep::emulator {

/// A file and a line. As a defaulted argument it names the caller's: `SourcePlace at = SourcePlace::here()`.
/// Not std::source_location, whose use as a defaulted argument clang 14 rejects.
struct SourcePlace {
  const char* file = nullptr;  ///< Null where nobody knows.
  unsigned line = 0;           ///< From 1.

  /// The place of the call whose argument this becomes.
  static constexpr SourcePlace here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
  /// The same line of the same file (by address: a file's name is one literal in one object file).
  constexpr bool operator==(const SourcePlace&) const noexcept = default;
};

}  // namespace lockstep::emulator
