#pragma once
/// @file
/// What the tests of shared memory have in common.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "comm/shared_memory/shared_memory.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"

namespace lockstep::test {

/// The memory of a group; the test fails with the reason if there is none.
[[nodiscard]] inline std::shared_ptr<comm::SharedMemory> shared_memory_of(const comm::JobContext& context) {
  auto found = comm::make_shared_memory(context, "test", soon());
  if (!found.memory) throw Error("no shared memory: " + found.reason);
  return found.memory;
}

/// Entries of /proc/self/fd.
[[nodiscard]] inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

/// Mappings of shared files in this process.
[[nodiscard]] inline int shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:lockstep") != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace lockstep::test
