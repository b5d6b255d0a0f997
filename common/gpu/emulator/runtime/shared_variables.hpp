#pragma once
/// @file
/// The static shared memory of a program.
#include <cstddef>
#include <span>
#include <vector>

namespace lockstep::emulator {

/// The variables that functions of the program or library with this kernel declare static, as `__shared__` does.
/// @cost  Reads the file's symbol table at its first kernel.
std::vector<std::span<std::byte>> shared_variables(const void* function);

}  // namespace lockstep::emulator
