#pragma once
/// @file
/// Tries the actions that a sandbox must prevent from inside, where lockstep_confine runs as `try=NAME [argument]`.
#include <string_view>

namespace lockstep::grading {

/// @param name  network, read, write, signal, processes, memory, file or fill.
/// @param argument  A path for read and write, a process id for signal, a limit for the others.
/// @return  0: prevented; 1: not prevented; 2: no such name.
[[nodiscard]] int try_protection(std::string_view name, const char* argument);

}  // namespace lockstep::grading
