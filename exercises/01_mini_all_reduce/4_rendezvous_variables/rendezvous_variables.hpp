#pragma once
/// @file
/// Given: what a process reads from its environment before it meets the other ranks (exercise 01.4).
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "exercise/todo.hpp"

namespace lockstep::rendezvous {

/// The value of an environment variable, or nothing if it is unset or empty.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// A process's place in its job.
struct Membership {
  int rank = 0;             ///< In [0, world_size).
  int world_size = 1;       ///< At least 1.
  std::string master_addr;  ///< Host of rank 0; empty with one rank, which meets nobody.
  int master_port = 0;      ///< Its port, in [1, 65535]; 0 with one rank.
};

inline constexpr int kMaxWorldSize = 65536;  ///< More ranks than any job has: a larger number is a typing error.
inline constexpr int kMaxPort = 65535;       ///< Port numbers have 16 bits.

/// Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which launchers (torchrun, lockstep launch) set. With a world
/// size of 1 it reads neither MASTER_ADDR nor MASTER_PORT: what is not needed cannot be wrong.
///
/// @throws FormatError  A variable that is needed is not set, is not a whole number, or is out of range. The message
///                      has the variable's name and its value; if RANK does not fit WORLD_SIZE, both variables'.
[[nodiscard]] Membership read_membership(const VariableLookup& lookup);

// The function above is made of this one. It is yours to write, too.

/// The whole number that a variable holds: decimal digits, with a minus in front at most, and nothing before or after.
///
/// @throws FormatError  The variable is not set, holds anything else, or a number outside of [minimum, maximum],
///                      however large. The message has the variable's name and its value.
[[nodiscard]] int read_number(const VariableLookup& lookup, const std::string& name, int minimum, int maximum);

}  // namespace lockstep::rendezvous
