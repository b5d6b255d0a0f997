// A batch size on which all ranks agree.
#include "08_accelerate/process/find_batch_size.hpp"

#include <cerrno>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using accelerate::find_executable_batch_size;
using accelerate::PartialState;

namespace {

// More than any machine has: the system refuses at once.
void run_out_of_memory() { (void)Tensor::empty({std::int64_t{1} << 56}, DType::kFloat32); }

}  // namespace

TEST_CASE("what the system and the emulator throw without memory is recognized, and nothing else",
          "[accelerate][memory]") {
  bool is_recognized = false;
  try {
    run_out_of_memory();
  } catch (const std::exception& error) {
    is_recognized = accelerate::is_out_of_memory(error);
  }
  CHECK(is_recognized);
  CHECK(accelerate::is_out_of_memory(std::bad_alloc()));
  CHECK_FALSE(accelerate::is_out_of_memory(Error("the loss is not a number")));
  CHECK_FALSE(accelerate::is_out_of_memory(IoError("reading", EIO)));
}

TEST_CASE("all ranks take the size that fits on the one with least memory", "[accelerate][memory][multirank]") {
  const int world_size = GENERATE(1, 2, 3);
  const std::int64_t most = GENERATE(1, 6, 100);  // that rank world_size - 1 can hold; the others hold 50
  std::vector<std::vector<std::int64_t>> tried(static_cast<std::size_t>(world_size));
  const auto sizes = test::run_ranks_for<std::int64_t>(world_size, [&](comm::JobContext job) {
    const PartialState ranks({}, std::move(job));
    return find_executable_batch_size(ranks, 48, [&](std::int64_t batch_size) {
      tried[static_cast<std::size_t>(ranks.process_index())].push_back(batch_size);
      if (batch_size > (ranks.is_last_process() ? most : 50)) run_out_of_memory();
    });
  });
  const std::int64_t expected = most == 1 ? 1 : most == 6 ? 6 : 48;  // 48, 24, 12, 6, 3, 1
  for (const std::int64_t size : sizes) CHECK(size == expected);
  for (const auto& of_rank : tried) CHECK(of_rank == tried[0]);
}

TEST_CASE("where not even one sample fits, all ranks end alike", "[accelerate][memory][multirank][fault]") {
  const auto outcomes = test::run_ranks(3, [](comm::JobContext job) {
    const PartialState ranks({}, std::move(job));
    find_executable_batch_size(ranks, 4, [&](std::int64_t) {
      if (ranks.process_index() == 1) run_out_of_memory();
    });
  });
  for (const auto& outcome : outcomes) CHECK_THAT(outcome.message(), ContainsSubstring("memory of rank 1"));
}

TEST_CASE("another error of a trial comes out, and ends the other ranks", "[accelerate][memory][multirank][fault]") {
  const auto outcomes = test::run_ranks(2, [](comm::JobContext job) {
    const PartialState ranks({}, std::move(job));
    find_executable_batch_size(ranks, 4, [&](std::int64_t) {
      if (ranks.process_index() == 1) throw FormatError("a broken sample");
    });
  });
  CHECK(outcomes[1].is<FormatError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("a broken sample"));
  CHECK_THROWS_AS(find_executable_batch_size(PartialState(), 0, [](std::int64_t) {}), ContractError);
}
