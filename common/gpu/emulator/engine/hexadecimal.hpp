#pragma once
/// @file
/// Formats lane masks for messages.
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>

namespace lockstep::emulator {

/// "0x0000ffff".
[[nodiscard]] inline std::string hexadecimal(std::uint32_t mask) {
  std::ostringstream out;
  out << "0x" << std::hex << std::setw(8) << std::setfill('0') << mask;
  return std::move(out).str();
}

}  // namespace lockstep::emulator
