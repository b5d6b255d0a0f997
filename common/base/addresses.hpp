#pragma once
/// @file
/// From addresses in a program to source lines, with addr2line(1) of binutils, which comes with every g++.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A function that was running, and where.
struct SourceFrame {
  std::string function;  ///< With its parameters, as in the debug information; empty if unknown.
  std::string file;      ///< The path given to the compiler.
  unsigned line = 0;     ///< From 1.
};

/// The command that looks up all addresses of one image at once.
/// @param image    A program or library with debug information.
/// @param offsets  Within the file, "0x12ab".
[[nodiscard]] std::vector<std::string> addr2line_command(const std::string& image,
                                                         const std::vector<std::string>& offsets);

/// Parses the output of that command: for each offset, its function, then outward the functions into which it was
/// inlined; none if its line is unknown.
[[nodiscard]] std::vector<std::vector<SourceFrame>> parse_addr2line(std::string_view printed);

}  // namespace lockstep
