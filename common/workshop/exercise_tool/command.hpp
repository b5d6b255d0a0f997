#pragma once
/// @file
/// The commands for exercises, one function each.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::exercise {

using Arguments = std::vector<std::string>;

/// One word after `lockstep`.
struct Command {
  std::string_view name;
  std::string_view usage;                  ///< Arguments after the name.
  std::string_view summary;                ///< One line.
  int (*run)(const Arguments& arguments);  ///< Receives the arguments after the name; returns the exit code; may throw.
};

int start(const Arguments& arguments);
int check(const Arguments& arguments);
int watch(const Arguments& arguments);
int why(const Arguments& arguments);
int hint(const Arguments& arguments);
int compare(const Arguments& arguments);
int progress(const Arguments& arguments);
int reset(const Arguments& arguments);
int use_reference(const Arguments& arguments);
int run_mine(const Arguments& arguments);
int detective_case(const Arguments& arguments);
int predict(const Arguments& arguments);
int targets(const Arguments& arguments);
int case_source(const Arguments& arguments);
int author(const Arguments& arguments);
int where_am_i(const Arguments& arguments);

}  // namespace lockstep::exercise
