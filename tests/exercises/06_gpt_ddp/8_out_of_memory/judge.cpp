#include <algorithm>

#include "../../require_awaited.hpp"
#include "../shares.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_06_8 {

using Numbers = std::vector<std::int64_t>;

// By rank: the most samples that fit at a time.
struct Scenario {
  std::int64_t micro_batch_size;
  Numbers most;

  [[nodiscard]] int world_size() const { return static_cast<int>(most.size()); }
};

// The sizes that are to be tried; the last one fits, or is 1.
Numbers expected_attempts(const Scenario& scenario) {
  const std::int64_t most = *std::ranges::min_element(scenario.most);
  Numbers attempts = {scenario.micro_batch_size};
  while (attempts.back() > most && attempts.back() > 1) attempts.push_back(attempts.back() / 2);
  return attempts;
}

// How the sizes that a rank has tried came about. @param size  That it returned; -1: it threw OutOfMemory.
std::string explain_attempts(const Scenario& scenario, const Numbers& tried, std::int64_t size) {
  const auto follows = [&](const auto& next) {
    for (std::size_t i = 1; i < tried.size(); ++i)
      if (tried[i] != next(tried[i - 1])) return false;
    return true;
  };
  if (std::ranges::find(tried, 0) != tried.end()) return ": a size of 0 makes no sense; stop after 1";
  if (tried.size() > 1 && tried[1] == tried[0])
    return ": a rank where it has worked has to make the next attempt smaller as well";
  if (!follows([](std::int64_t before) { return before / 2; }))
    return follows([](std::int64_t before) { return (before + 1) / 2; }) ? ": halves are rounded down"
                                                                         : ": each size is half of the one before";
  const std::int64_t last = tried.empty() ? scenario.micro_batch_size : tried.back();
  if (last <= std::ranges::min(scenario.most)) return "";
  return size < 0 ? ": it has given up although smaller sizes are left" : ": it has stopped although a rank has failed";
}

void check_gradient(Check& check, const Scenario& scenario, const Outcome& outcome, int rank) {
  const int ranks = scenario.world_size();
  const double mean = mean_of_shares(all_ranks(ranks));
  const auto explain = [&](std::size_t, double got, double) -> std::string {
    if (got == 0)
      return "all of it is missing: has it been cleared after the attempt that worked, or is a quotient of two "
             "integers 0?";
    const std::string known = explain_mean(got, mean, ranks);
    if (got <= mean || got == mean * ranks) return known;
    return concat(known, known.empty() ? "" : ": ", "something of an attempt that failed is still in it");
  };
  const std::vector<KnownFactor> factors = {
      {static_cast<double>(ranks), "that is the sum; it is not divided by the number of ranks"},
      {1.0 / ranks, "it is divided by the number of ranks twice"}};
  check.compare(concat("rank ", rank, "'s gradient"), check.numbers<float>(outcome, rank, "gradient"),
                std::vector<double>(6, mean),
                {.explain = explain,
                 .knowledge = std::ranges::min(scenario.most) >= scenario.micro_batch_size
                                  ? std::optional(ArrayKnowledge{.factors = factors})
                                  : std::nullopt});
  // Whether an attempt has worked may be told in any way that costs one number.
  const Numbers all_reduces = check.numbers<std::int64_t>(outcome, rank, "all_reduces");
  const auto flags = std::ranges::count(all_reduces, std::int64_t{1});
  check.expect(
      std::ranges::count(all_reduces, std::int64_t{6}) == 1 && flags + 1 == std::ssize(all_reduces) &&
          flags <= std::ssize(expected_attempts(scenario)),
      concat("rank ", rank, " issued all-reduces of ", list(all_reduces),
             " values; one, of the 6 of the gradient, is enough"),
      "tell the others with gather_rows() whether it has worked, and send the gradient once it has everywhere");
}

void check_step(Check& check, const Scenario& scenario, TrialOptions options = {}) {
  options.world_size = scenario.world_size();
  options.question = [&](int rank) {
    return nlohmann::json{{"micro_batch_size", scenario.micro_batch_size},
                          {"most", scenario.most[static_cast<std::size_t>(rank)]},
                          {"value", share_in_mean(rank, scenario.world_size())}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, scenario.world_size());
  const std::string situation =
      concat("the ranks have memory for ", list(scenario.most), " samples and begin with ", scenario.micro_batch_size);
  const Numbers attempts = expected_attempts(scenario);
  const bool fits = attempts.back() <= *std::ranges::min_element(scenario.most);
  for (int rank = 0; rank < scenario.world_size(); ++rank) {
    const auto size = check.get<std::int64_t>(outcome, rank, "size");
    const Numbers tried = check.numbers<std::int64_t>(outcome, rank, "attempts");
    if (tried != attempts)
      check.wrong(concat(situation, ": rank ", rank, " tried the sizes ", list(tried), "; all ranks should try ",
                         list(attempts), explain_attempts(scenario, tried, size)),
                  "all ranks make the same attempts: they decide by what has happened on any of them");
    if (!fits && size >= 0)
      check.wrong(concat(situation, ": rank ", rank, " returned ", size,
                         ", but OutOfMemory is to be thrown where a size of 1 does not fit"));
    if (fits && size != attempts.back())
      check.wrong(concat(situation, ": rank ", rank, size < 0 ? " threw OutOfMemory" : concat(" returned ", size), "; ",
                         attempts.back(), " fits everywhere"));
  }
  for (int rank = 0; fits && rank < scenario.world_size(); ++rank) check_gradient(check, scenario, outcome, rank);
}

}  // namespace checks_06_8

void judge_06_8(Examination& exam) {
  using namespace checks_06_8;
  exam.check("one rank, and it fits", [](Check& check) { check_step(check, {8, {8}}); });
  exam.check("one rank, in the third attempt", [](Check& check) { check_step(check, {16, {5}}); });
  exam.check("3 ranks, and it fits everywhere", [](Check& check) { check_step(check, {4, {4, 9, 5}}); });
  exam.check("no rank has enough", [](Check& check) { check_step(check, {8, {4, 4}}); });
  exam.check("ranks 0 and 2 have too little", [](Check& check) { check_step(check, {8, {4, 8, 4}}); });
  exam.check("rank 1 alone has too little", [](Check& check) { check_step(check, {8, {8, 4}}); });
  exam.check("different ranks fail in different attempts", [](Check& check) {
    check_step(check, {16, {9, 16, 2, 5}});
  });
  exam.check("an odd size", [](Check& check) { check_step(check, {7, {3, 7, 7}}); });
  exam.check("a size of 1 fits", [](Check& check) { check_step(check, {6, {6, 1}}); });
  exam.check("one sample is too much for rank 1, and all ranks throw", [](Check& check) {
    check_step(check, {4, {4, 0, 2}});
  });
  exam.full_check("8 ranks, many amounts of memory, the first rank late", [](Check& check) {
    PhiloxSequence random(check.seed(), 68);
    for (int round = 0; round < 8; ++round) {
      Scenario scenario{static_cast<std::int64_t>(1 + random.next_below(40)), {}};
      for (int rank = 0; rank < 8; ++rank)
        scenario.most.push_back(static_cast<std::int64_t>((round % 3 == 0 ? 0 : 1) + random.next_below(40)));
      check_step(check, scenario, {.delayed_rank = round == 0 ? 0 : -1});
    }
  });
}

}  // namespace lockstep::exercise
