// Cooperation of processes apart from training.
#include "08_accelerate/process/partial_state.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using accelerate::PartialState;

namespace {

template <typename T>
std::vector<T> on_each_rank(int world_size, const std::function<T(PartialState&)>& function) {
  return test::run_ranks_for<T>(world_size, [&](comm::JobContext job) {
    PartialState state({}, std::move(job));
    return function(state);
  });
}

}  // namespace

TEST_CASE("without a launcher's variables this process is the job", "[accelerate]") {
  REQUIRE(std::getenv("RANK") == nullptr);
  PartialState state;
  CHECK(state.num_processes() == 1);
  CHECK(state.process_index() == 0);
  CHECK((state.is_main_process() && state.is_local_main_process() && state.is_last_process()));
  state.wait_for_everyone();
  CHECK(state.reduce(std::int64_t{7}) == 7);
  CHECK(state.gather(Tensor::zeros({2, 3})).shape() == Shape{2, 3});
  CHECK_FALSE(state.check_trigger());
  const std::vector<int> values{1, 2, 3};
  CHECK(std::ranges::size(state.split_between_processes(values)) == 3);
}

TEST_CASE("gather puts the ranks' rows one below the other", "[accelerate][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const auto gathered = on_each_rank<std::vector<float>>(world_size, [](PartialState& state) {
    const auto rank = static_cast<float>(state.process_index());
    const std::vector<float> own{10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3};
    const Tensor all = state.gather(Tensor::from(std::span<const float>(own), {2, 2}));
    if (all.shape() != Shape{2 * state.num_processes(), 2}) return std::vector<float>{};
    return std::vector<float>(all.span<float>().begin(), all.span<float>().end());
  });
  std::vector<float> expected;
  for (int rank = 0; rank < world_size; ++rank)
    for (int i = 0; i < 4; ++i) expected.push_back(static_cast<float>(10 * rank + i));
  for (const auto& of_rank : gathered) CHECK(of_rank == expected);
}

TEST_CASE("reduce adds or averages, and leaves its argument as it is", "[accelerate][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 5);
  const auto sums = on_each_rank<std::array<double, 4>>(world_size, [](PartialState& state) {
    // Rank r contributes 8^r: written in base 8 the sum says how often each rank was counted.
    const auto own = static_cast<double>(std::int64_t{1} << (3 * state.process_index()));
    const Tensor tensor = Tensor::from(std::span<const double>(&own, 1), {1});
    const double sum = state.reduce(tensor).item();
    return std::array{sum, tensor.item() == own ? state.reduce(own) : -1, state.reduce(own, comm::ReduceOp::kMean),
                      static_cast<double>(state.reduce(std::int64_t{state.process_index()}, comm::ReduceOp::kMax))};
  });
  const auto all = static_cast<double>(((std::int64_t{1} << (3 * world_size)) - 1) / 7);  // 1 + 8 + 64 + ...
  for (const auto& of_rank : sums) CHECK(of_rank == std::array{all, all, all / world_size, world_size - 1.0});
}

TEST_CASE("a range is split into contiguous parts that differ by one element at most", "[accelerate][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4, 5, 8);
  const std::int64_t count = GENERATE(0, 1, 4, 5, 7, 16);
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 100);
  const auto parts = on_each_rank<std::vector<std::int64_t>>(world_size, [&](PartialState& state) {
    const auto part = state.split_between_processes(values);
    return std::vector<std::int64_t>(part.begin(), part.end());
  });
  std::vector<std::int64_t> together;
  for (const auto& part : parts) {
    CHECK(std::ssize(part) >= count / world_size);
    CHECK(std::ssize(part) <= (count + world_size - 1) / world_size);
    together.insert(together.end(), part.begin(), part.end());
  }
  CHECK(together == values);
}

TEST_CASE("a trigger that one rank sets is seen by all, once", "[accelerate][multirank]") {
  const auto seen = on_each_rank<std::array<int, 3>>(3, [](PartialState& state) {
    const bool before = state.check_trigger();
    if (state.process_index() == 1) state.set_trigger();
    const bool after = state.check_trigger();
    return std::array<int, 3>{before, after, state.check_trigger()};
  });
  for (const auto& of_rank : seen) CHECK(of_rank == std::array{0, 1, 0});
}

TEST_CASE("the main process leaves main_process_first before any other enters", "[accelerate][multirank]") {
  std::atomic<bool> is_main_done = false;
  std::atomic<int> early = 0;
  const auto outcomes = test::run_ranks(4, [&](comm::JobContext job) {
    const PartialState state({}, std::move(job));
    const auto first = state.main_process_first();
    if (!state.is_main_process() && !is_main_done) ++early;
    if (state.is_main_process()) is_main_done = true;
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
  CHECK(early == 0);
}

TEST_CASE("a main process that throws in main_process_first does not leave the others waiting",
          "[accelerate][multirank][fault]") {
  const auto outcomes = test::run_ranks(3, [&](comm::JobContext job) {
    const PartialState state({}, std::move(job));
    const auto first = state.main_process_first();
    if (state.is_main_process()) throw FormatError("the download is damaged");
  });
  CHECK(outcomes[0].is<FormatError>());
  for (const int rank : {1, 2}) CHECK_THAT(outcomes[rank].message(), ContainsSubstring("main_process_first()"));
}

TEST_CASE("tensors of different sizes cannot be gathered", "[accelerate][multirank][fault]") {
  const auto outcomes = test::run_ranks(2, [&](comm::JobContext job) {
    const PartialState state({}, std::move(job));
    (void)state.gather(Tensor::zeros({2 + state.process_index()}));
  });
  for (const auto& outcome : outcomes) CHECK(outcome.is<MismatchError>());
}
