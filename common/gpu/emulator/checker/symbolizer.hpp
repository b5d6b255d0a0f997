#pragma once
/// @file
/// Source places of program counters.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep::emulator::checker {

/// One function that contains a program counter; inlined functions have separate frames.
struct Frame {
  std::string function;  ///< Demangled; empty if unknown.
  std::string file;      ///< As passed to the compiler; the binary if there is no debug information.
  unsigned line = 0;     ///< 0 if unknown; `file` then ends in "+0x" and the offset.
};

/// Runs addr2line (binutils, which every g++ brings), once per program counter. It reads the output of g++ and clang,
/// in fixed-address programs, position-independent ones and shared libraries. Without it, frames name binary and
/// offset.
class Symbolizer {
 public:
  /// Frames of the instruction before `return_address` (the call), innermost first; never empty.
  const std::vector<Frame>& frames(std::uintptr_t return_address);
  /// The innermost frame in neither a system header nor an emulator header; else the innermost.
  const Frame& user_frame(std::uintptr_t return_address);
  /// The name of a function, without parameters and template arguments; empty if unknown. @param function  Its address.
  std::string function_name(const void* function);

 private:
  std::unordered_map<std::uintptr_t, std::vector<Frame>> known_;
};

/// True if the file is neither one of the emulator's headers nor one of the compiler's.
bool is_user_file(const std::string& file);

}  // namespace lockstep::emulator::checker
