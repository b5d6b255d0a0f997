#include "tool/launch_faults.hpp"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/fault.hpp"
#include "base/file.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

fault::Fault checked(const std::string& text, int world_size) {
  fault::Fault parsed;
  try {
    parsed = fault::parse_fault(text);
  } catch (const FormatError& error) {
    throw UsageError(concat("--inject: ", error.what()));
  }
  const int highest = std::max(parsed.rank, parsed.peer.value_or(0));
  if (highest < world_size) return parsed;
  throw UsageError(
      concat("--inject \"", text, "\": there is no rank ", highest, "; the job's ranks are 0 to ", world_size - 1));
}

}  // namespace

bool mentions(const std::string& program, const std::string& variable) {
  if (!fs::is_regular_file(program)) return false;  // found on PATH
  return read_file(program).find(variable) != std::string::npos;
}

void add_fault_option(CommandLine& app, std::vector<std::string>& faults) {
  app.add_option("--inject", faults,
                 concat("Make something go wrong, to see what happens: 'rank=2 step=50 kill' (LOCKSTEP_INJECT, with ; ",
                        "between several). Kinds: ", fault::list_of_kinds(),
                        ". attempt=1 means the first restart, attempt=any every start; drop and corrupt may name the "
                        "other rank: peer=0. May be given several times"))
      .type_name("FAULT")
      .without_default();
}

void export_faults(const std::vector<std::string>& faults, int world_size, const std::string& program) {
  if (faults.empty()) return;
  std::string all = environment::get(fault::kVariable).value_or("");
  bool needs_tcp = false;
  for (const std::string& text : faults) {
    const fault::Fault fault = checked(text, world_size);
    needs_tcp = needs_tcp || fault::needs_tcp(fault.kind);
    all += concat(all.empty() ? "" : "; ", fault::to_text(fault));
  }
  setenv(fault::kVariable, all.c_str(), 1);
  if (needs_tcp && !environment::get("LOCKSTEP_TRANSPORT")) {
    std::cerr << "lockstep: LOCKSTEP_TRANSPORT=tcp for this job: shared memory has no connection to drop and no "
                 "checksum\n";
    setenv("LOCKSTEP_TRANSPORT", "tcp", 1);
  }
  if (mentions(program, fault::kVariable)) return;
  std::cerr << "lockstep: --inject has no effect unless what " << fs::path(program).filename().string()
            << " runs reads " << fault::kVariable << ", as the programs that train with common/train/run do\n";
}

}  // namespace lockstep::tool
