#pragma once
// The option --inject of `lockstep launch`. Internal to this module.
#include <string>
#include <vector>

namespace lockstep {
class CommandLine;
}

namespace lockstep::tool {

// True if a program's file, or a script, contains the variable's name, as it must to read it.
[[nodiscard]] bool mentions(const std::string& program, const std::string& variable);

// Declares --inject. `faults` receives the values as typed.
void add_fault_option(CommandLine& app, std::vector<std::string>& faults);

// Passes the faults to the ranks, which inherit this process's environment, in addition to those in LOCKSTEP_INJECT.
// Reports side effects on standard error, and whether the program would ignore the faults. Throws UsageError if a fault
// is malformed or names a rank that the job does not have.
void export_faults(const std::vector<std::string>& faults, int world_size, const std::string& program);

}  // namespace lockstep::tool
