#pragma once
/// @file
/// What a sandbox must prevent, tried from inside: lockstep_confine starts itself in the sandbox as `try=NAME
/// [argument]`.
#include <string_view>

namespace lockstep::grading {

/// Tries it. @param name  network, read, write, signal, processes, memory, file or fill.
/// @param argument  A path for read and write, a process's number for signal, a limit for the others.
/// @return  0: it is prevented; 1: it is not; 2: there is no such name.
[[nodiscard]] int try_protection(std::string_view name, const char* argument);

}  // namespace lockstep::grading
