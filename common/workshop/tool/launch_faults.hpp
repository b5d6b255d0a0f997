#pragma once
// The option --inject of `lockstep launch`; not for others.
#include <string>
#include <vector>

namespace lockstep {
class CommandLine;
}

namespace lockstep::tool {

// Whether a program's file, or a script, names a variable: whoever reads it does.
[[nodiscard]] bool mentions(const std::string& program, const std::string& variable);

// Declares --inject. `faults` gets the values as typed.
void add_fault_option(CommandLine& app, std::vector<std::string>& faults);

// Hands the faults on to the ranks, which inherit this process's environment, beside what LOCKSTEP_INJECT already
// says. Says on standard error what else that changes, and where the program would ignore it.
// Throws UsageError where a fault cannot be read or is for a rank that the job does not have.
void export_faults(const std::vector<std::string>& faults, int world_size, const std::string& program);

}  // namespace lockstep::tool
