#include <set>
#include <sstream>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

using lockstep::test::Finished;
using lockstep::test::Subprocess;

namespace {

// Both programs, from the folder of this test's own.
std::vector<std::string> programs() { return {LOCKSTEP_LINKED_FIRST, LOCKSTEP_LINKED_LAST}; }

/// The emulator's own names in one of its parts.
struct Names {
  std::set<std::string> defined;
  std::set<std::string> used;  // weak or not
};

Names names_of(const std::string& archive) {
  const Finished finished = Subprocess({"nm", "--format=posix", archive}).wait();
  REQUIRE(finished.exit_code == 0);
  Names names;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    std::string name, type;
    if (!(std::istringstream(line) >> name >> type) || name.find("8emulator") == std::string::npos) continue;
    if (name.starts_with("_ZTH")) continue;  // the compiler's: what would initialise a thread_local, if anything had to
    const bool is_undefined = type == "U" || type == "w" || type == "v";
    (is_undefined ? names.used : names.defined).insert(name);
  }
  return names;
}

}  // namespace

TEST_CASE("Each part of the emulator uses nothing but itself and the parts before it", "[emulator]") {
  std::set<std::string> defined;
  std::istringstream parts(LOCKSTEP_EMULATOR_PARTS);
  for (std::string part; std::getline(parts, part, ':');) {  // engine, checker, runtime
    const Names names = names_of(part);
    REQUIRE(!names.used.empty());
    defined.insert(names.defined.begin(), names.defined.end());
    for (const std::string& name : names.used) {
      if (!defined.contains(name)) FAIL_CHECK(part << " uses " << name);
    }
  }
}

TEST_CASE("Instrumented host code works, wherever the emulator stands in the link", "[emulator]") {
  for (const std::string& program : programs()) {
    for (const char* const check : {"0", "1"}) {
      INFO(program << " with LOCKSTEP_EMULATOR_CHECK=" << check);
      const Finished finished = Subprocess({program}, {{"LOCKSTEP_EMULATOR_CHECK", check}}).wait();
      CHECK(finished.exit_code == 0);
      CHECK(finished.err.empty());
      CHECK(finished.out == "400 sorted\n");
    }
  }
}

TEST_CASE("A program with findings reports them, sums them up and ends with status 86", "[emulator]") {
  for (const std::string& program : programs()) {
    const Finished finished = Subprocess({program, "wrong"}, {{"LOCKSTEP_EMULATOR_CHECK", "1"}}).wait();
    CHECK(finished.exit_code == 86);
    CHECK_THAT(finished.err, ContainsSubstring("emulated CUDA: race in kernel shift: read at linked_program.cpp:"));
    CHECK_THAT(finished.err, ContainsSubstring("emulated CUDA: 1 finding in this run:\n"));
    const Finished tolerated =
        Subprocess({program, "wrong"}, {{"LOCKSTEP_EMULATOR_CHECK", "1"}, {"LOCKSTEP_EMULATOR_EXIT", "0"}}).wait();
    CHECK(tolerated.exit_code == 0);
  }
}

TEST_CASE("The emulator's library answers the hooks and calls none", "[emulator]") {
  // A call of an exported function goes through a relocation that names it.
  const Finished finished = Subprocess({"readelf", "--relocs", "--wide", LOCKSTEP_EMULATOR_LIBRARY}).wait();
  REQUIRE(finished.exit_code == 0);
  REQUIRE_THAT(finished.out, ContainsSubstring("R_"));
  CHECK_THAT(finished.out, !ContainsSubstring("__tsan_"));
  const Finished names = Subprocess({"nm", "--dynamic", "--defined-only", LOCKSTEP_EMULATOR_LIBRARY}).wait();
  for (const char* const hook : {" T __tsan_read4", " T __tsan_write16", " T __tsan_atomic32_fetch_add",
                                 " T __tsan_read_range", " T __ubsan_handle_out_of_bounds"}) {
    CHECK_THAT(names.out, ContainsSubstring(hook));
  }
}
