#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_03_1 {

// Rank r's share of every element is 8^r, so that the sum says who is in it.
double share_of(int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); }

const Outcome& reduce(Check& check, TrialOptions options, std::size_t count, int times = 1,
                      bool is_host_memory = false) {
  options.question = [&](int rank) {
    std::vector<float> values(count, static_cast<float>(share_of(rank)));
    return nlohmann::json{
        {"values", to_message(std::span<const float>(values))}, {"times", times}, {"is_host_memory", is_host_memory}};
  };
  return check.run(options);
}

const Outcome& check_sums(Check& check, const TrialOptions& options, std::size_t count) {
  const Outcome& outcome = reduce(check, options, count);
  double sum = 0;
  for (int rank = 0; rank < options.world_size; ++rank) sum += share_of(rank);
  for (int rank = 0; rank < options.world_size; ++rank)
    check.compare(concat("rank ", rank, "'s values"), check.numbers<float>(outcome, rank, "values"),
                  std::vector<double>(count, sum),
                  {.explain = [&](std::size_t, double got, double) { return explain_sum(got, options.world_size); }});
  return outcome;
}

int count_of(const Outcome& outcome, int rank, const std::string& call) {
  const nlohmann::json& answer = outcome.ranks.at(static_cast<std::size_t>(rank)).answer;
  return answer.contains(call) ? answer[call].get<int>() : 0;
}

void check_count(Check& check, const Outcome& outcome, int rank, const std::string& call, int expected,
                 const std::string& next) {
  const int got = count_of(outcome, rank, call);
  if (got != expected)
    check.wrong(concat("rank ", rank, " should call ", call, " ", expected, expected == 1 ? " time" : " times",
                       ", and called it ", got, got == 1 ? " time" : " times"),
                next);
}

void check_life(Check& check) {
  const Outcome& outcome = check_sums(check, {.world_size = 3}, 100);
  for (int rank = 0; rank < 3; ++rank) {
    check_count(check, outcome, rank, "ncclGetUniqueId", rank == 0 ? 1 : 0, "rank 0 makes the id, the others get it");
    check_count(check, outcome, rank, "ncclCommInitRank", 1, "");
    const int joined_as = check.get<int>(outcome, rank, "joined_as");
    check.expect(joined_as == rank, concat("rank ", rank, " joins the communicator as rank ", joined_as),
                 "the sum is the same, but a broadcast would come from the wrong rank: the last argument of "
                 "ncclCommInitRank() is place.rank");
    check_count(check, outcome, rank, "ncclAllReduce", 1, "");
    check_count(check, outcome, rank, "ncclCommDestroy", 1,
                "a communicator that nobody destroys keeps its connections and its memory on the GPU");
    check.expect(check.get<bool>(outcome, rank, "is_in_stream"),
                 concat("rank ", rank, ": the all-reduce is not in the stream that was given"),
                 "what writes `values` may still be running in that stream: only there is the all-reduce in order");
    const auto calls = check.get<std::string>(outcome, rank, "calls");
    const std::size_t reduced = calls.find("ncclAllReduce"), destroyed = calls.find("ncclCommDestroy");
    const std::string between = calls.substr(reduced, destroyed - reduced);
    check.expect(between.find("Synchronize") != std::string::npos || between.find("Query") != std::string::npos,
                 concat("rank ", rank, " destroys the communicator without having waited for the all-reduce"),
                 "ncclAllReduce() only puts work into the stream: which call waits for a stream?");
  }
}

// Its sum is what it had; but what is still being written in the stream has to be there at the end.
void check_one_rank(Check& check) {
  const Outcome& outcome = check_sums(check, {.world_size = 1}, 5);
  const std::string next =
      "one rank is no special case: the caller relies on the stream's work being done, and on NCCL's word";
  for (const char* call : {"ncclGetUniqueId", "ncclCommInitRank", "ncclAllReduce", "ncclCommDestroy"})
    check_count(check, outcome, 0, call, 1, next);
}

void check_refusal(Check& check) {
  const Outcome& outcome = reduce(check, {.world_size = 1}, 4, 1, true);
  check.expect(
      !check.get<std::string>(outcome, 0, "thrown").empty(),
      "NCCL refused to reduce memory that is not the device's, and the function returned as if nothing was wrong",
      "every call of NCCL returns a code: pass it to nccl_check()");
}

}  // namespace checks_03_1

void judge_03_1(Examination& exam) {
  using namespace checks_03_1;
  exam.check("one rank", check_one_rank);
  exam.check("2 ranks", [](Check& check) { check_sums(check, {.world_size = 2}, 5); });
  exam.check("4 ranks", [](Check& check) { check_sums(check, {.world_size = 4}, 7); });
  exam.check("who calls what, and when", check_life);
  exam.check("an error of NCCL becomes an exception", check_refusal);
  exam.check("two communicators, one after the other", [](Check& check) {
    const Outcome& outcome = reduce(check, {.world_size = 2}, 3, 2);
    for (int rank = 0; rank < 2; ++rank)
      check.compare(concat("rank ", rank, "'s values"), check.numbers<float>(outcome, rank, "values"),
                    std::vector<double>(3, 2 * (share_of(0) + share_of(1))));
  });
  exam.full_check("a byte at a time, 100,000 elements",
                  [](Check& check) { check_sums(check, {.world_size = 3, .most_at_once = 1}, 100'000); });
  exam.full_check("8 ranks, the third late",
                  [](Check& check) { check_sums(check, {.world_size = 8, .delayed_rank = 2}, 33); });
}

}  // namespace lockstep::exercise
