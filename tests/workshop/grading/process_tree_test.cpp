// Programs run for a submission, and the parts of their memory that count.
#include "grading/process_tree.hpp"

#include "base/error.hpp"
#include "grading/memory_group.hpp"
#include "support/catch.hpp"

namespace lockstep::grading {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

Ended run_script(const std::string& script, const Allowance& allowance, const std::string& input = "") {
  adopt_orphans();
  return run_watched({"sh", "-c", script}, {"PATH=/usr/local/bin:/usr/bin:/bin"}, "/", allowance, input);
}

// Each uses 400 MiB if it may.
constexpr const char* kLarge[] = {
    // private memory
    "head -c 400M /dev/zero | tail >/dev/null; sleep 2",
    // in an unnamed file in memory
    "exec 5>/dev/shm/lockstep_try_$$; rm /dev/shm/lockstep_try_$$; head -c 400M /dev/zero >&5; sleep 2",
    // the same in four files
    "for fd in 5 6 7 8; do eval \"exec $fd>/dev/shm/lockstep_try_$$\"; rm /dev/shm/lockstep_try_$$; "
    "eval \"head -c 100M /dev/zero >&$fd\"; done; sleep 2"};

}  // namespace

TEST_CASE("memory and files in memory are limited together, by a control group or without one", "[grading]") {
  for (const char* script : kLarge) {
    for (const bool has_group : {true, false}) {
      INFO(script << (has_group ? " in a group" : " added up"));
      const Ended ended = run_script(script, {.memory_bytes = 150 * kMebibyte, .has_group = has_group});
      CHECK(ended.is_out_of_memory);
    }
  }
  for (const bool has_group : {true, false})
    CHECK(!run_script(kLarge[1], {.memory_bytes = 1500 * kMebibyte, .has_group = has_group}).is_out_of_memory);
}

TEST_CASE("a memory group is removed when it is no longer needed", "[grading]") {
  // If a group can be made, a process can be started in it; without rights there is none, and sizes are added up.
  auto group = MemoryGroup::create(100 * kMebibyte);
  if (!group) return;
  CHECK(!group->has_ended_processes());
  group.reset();
  CHECK(MemoryGroup::create(100 * kMebibyte).has_value());
}

TEST_CASE("a program gets its input, and nothing of the environment", "[grading]") {
  const Ended ended = run_script("cat; echo ${HOME:-none}", {}, "a secret\n");
  CHECK(ended.output == "a secret\nnone\n");
  CHECK(run_script("cat", {}).output.empty());
}

}  // namespace lockstep::grading
