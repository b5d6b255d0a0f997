#pragma once
/// @file
/// Commands that set up hosts.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/subprocess.hpp"

namespace lockstep::test {

/// Runs a command. @throws IoError  It ended with something other than 0; has its words and its error output.
inline void run_or_throw(const std::vector<std::string>& command) {
  const Finished finished = run_program(command);
  if (finished.exit_code == 0) return;
  std::string text;
  for (const std::string& word : command) text += word + " ";
  throw IoError(text + "failed: " + finished.err);
}

}  // namespace lockstep::test
