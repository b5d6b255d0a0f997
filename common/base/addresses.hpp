#pragma once
/// @file
/// From addresses in a program to lines of its source, with addr2line(1) of binutils, which every g++ brings.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A function that was running, and where.
struct SourceFrame {
  std::string function;  ///< With its parameters, as the compiler names it; empty if unknown.
  std::string file;      ///< As the compiler was told it.
  unsigned line = 0;     ///< From 1.
};

/// The command that looks up all addresses of one image at once.
/// @param image    A program or library with debug information.
/// @param offsets  As the file counts, "0x12ab".
[[nodiscard]] std::vector<std::string> addr2line_command(const std::string& image,
                                                         const std::vector<std::string>& offsets);

/// What that command has printed: for each offset, the function that it lies in, and outward those into which it was
/// inlined; none if its line is unknown.
[[nodiscard]] std::vector<std::vector<SourceFrame>> parse_addr2line(std::string_view printed);

}  // namespace lockstep
