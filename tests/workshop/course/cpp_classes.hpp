#pragma once
/// @file
/// Finds the classes of a C++ file, with their methods and members: enough to count them, no parser.
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::checks {

/// One class or struct with a body.
struct ClassShape {
  std::string name;               ///< With the names of namespaces and classes around it.
  std::size_t line = 1;           ///< Where it begins, counted from 1.
  bool is_struct = false;         ///< Declared with `struct`.
  std::set<std::string> methods;  ///< Names, so that overloads count once; without constructors, the destructor, what
                                  ///< is deleted or defaulted, and overrides, which belong to an interface.
  std::size_t member_count = 0;   ///< Variables that each object has; static ones are none.
};

/// The classes of one file.
struct ClassesOfFile {
  std::vector<ClassShape> classes;          ///< Those with a body, also inside others; not those in functions.
  std::set<std::string> defined_elsewhere;  ///< Names of classes of which a method is defined outside the body.
};

/// Reads one file.
[[nodiscard]] ClassesOfFile find_classes(const course::TextFile& file);

}  // namespace lockstep::checks
