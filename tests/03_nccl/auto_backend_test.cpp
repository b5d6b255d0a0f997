// The backend "auto": which one it is, and that rank 0 decides.
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using comm::JobContext;

namespace {

// Sets a variable of this process, whose threads are the ranks, and takes it back.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string backend_of(const comm::ProcessGroup& group) { return std::string(group.backend()); }

std::set<std::string> backends(int world_size, const std::string& backend = "auto") {
  const auto names = test::run_ranks_for<std::string>(world_size, [&](JobContext job) {
    const auto group = backend::make_process_group(backend, std::move(job));
    const auto half = group->split(group->rank() % 2);
    return concat(backend_of(*group), ", ", backend_of(*half));
  });
  return {names.begin(), names.end()};
}

}  // namespace

TEST_CASE("auto is shared memory on one host, and so are its parts", "[nccl][multirank]") {
  CHECK(backends(4) == std::set<std::string>{"shared_memory, shared_memory"});
  CHECK(backends(1) == std::set<std::string>{"ring, ring"});
  CHECK(backends(4, "ring") == std::set<std::string>{"ring, ring"});
  CHECK(backends(4, "shared_memory") == std::set<std::string>{"shared_memory, shared_memory"});
}

TEST_CASE("LOCKSTEP_TRANSPORT=tcp makes auto a ring, and contradicts shared_memory", "[nccl][multirank]") {
  const Variable variable("LOCKSTEP_TRANSPORT", "tcp");
  CHECK(backends(4) == std::set<std::string>{"ring, ring"});
  const auto outcomes =
      test::run_ranks(2, [](JobContext job) { (void)backend::make_process_group("shared_memory", std::move(job)); });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<UsageError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("LOCKSTEP_TRANSPORT=tcp turns shared memory off"));
  }
}

TEST_CASE("LOCKSTEP_TRANSPORT=shared_memory holds for auto", "[nccl][multirank]") {
  const Variable variable("LOCKSTEP_TRANSPORT", "shared_memory");
  CHECK(backends(2) == std::set<std::string>{"shared_memory, shared_memory"});
}

TEST_CASE("a transport that is unknown is wrong use, on every rank", "[nccl][multirank]") {
  const Variable variable("LOCKSTEP_TRANSPORT", "udp");
  const auto outcomes =
      test::run_ranks(3, [](JobContext job) { (void)backend::make_process_group("auto", std::move(job)); });
  for (const test::RankOutcome& outcome : outcomes) {
    CHECK(outcome.is<UsageError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("LOCKSTEP_TRANSPORT=udp is unknown; use auto, tcp or"));
  }
}

TEST_CASE("groups of auto follow one another, and each passes what backends pass", "[nccl][multirank]") {
  const test::GroupFactory make = [](JobContext job) {
    const auto first = backend::make_process_group("auto", job);
    first->barrier().synchronize();
    return backend::make_process_group("auto", std::move(job));
  };
  test::check_all_reduce(make, 0);
  test::check_nested_splits(make);
}

TEST_CASE("a backend that is unknown is refused with those there are", "[nccl]") {
  try {
    (void)backend::make_process_group("rings", comm::JobContext());
    FAIL("accepted");
  } catch (const UsageError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("the backends are auto, star, ring, shared_memory, nccl"));
  }
}
