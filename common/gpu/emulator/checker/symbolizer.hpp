#pragma once
/// @file
/// Source places of program counters.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep::emulator::checker {

/// One function that a program counter lies in; inlined functions have frames of their own.
struct Frame {
  std::string function;  ///< Demangled; empty where unknown.
  std::string file;      ///< As the compiler was told; the binary where there is no debug information.
  unsigned line = 0;     ///< 0 where unknown; `file` then ends in "+0x" and the offset.
};

/// Asks addr2line (binutils, which every g++ brings), once per program counter. It reads what g++ and clang write, in
/// programs of fixed address, position-independent ones and shared libraries. Without it, frames name binary and
/// offset.
class Symbolizer {
 public:
  /// Frames of the instruction before `return_address` (the call), innermost first; never empty.
  const std::vector<Frame>& frames(std::uintptr_t return_address);
  /// The innermost frame that lies neither in a system header nor in the emulator's headers; else the innermost.
  const Frame& user_frame(std::uintptr_t return_address);
  /// The name of a function, without parameters and template arguments; empty if unknown. @param function  Its address.
  std::string function_name(const void* function);

 private:
  std::unordered_map<std::uintptr_t, std::vector<Frame>> known_;
};

/// Whether code of that file is the user's: neither the emulator's headers nor the compiler's.
bool is_user_file(const std::string& file);

}  // namespace lockstep::emulator::checker
