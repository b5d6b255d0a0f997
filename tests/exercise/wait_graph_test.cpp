#include "exercise/wait_graph.hpp"

#include "support/catch.hpp"

namespace lockstep::exercise {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a cycle among some of the ranks is found, and so are the ranks that only wait for it", "[exercise]") {
  const WaitReport report = explain_waits({{.rank = 0, .state = RankState::kReceiving, .peer = 2},
                                           {.rank = 1, .state = RankState::kFinished},
                                           {.rank = 2, .state = RankState::kSending, .peer = 3},
                                           {.rank = 3, .state = RankState::kReceiving, .peer = 2}});
  CHECK(report.summary == "rank 2 waits for rank 3, which waits for rank 2");
  CHECK(report.ranks[1] == "rank 1 has finished");
}

TEST_CASE("ranks in different collectives are named with them", "[exercise]") {
  const WaitReport report =
      explain_waits({{.rank = 0, .state = RankState::kCollective, .call = 3, .file = {}, .operation = "all_reduce"},
                     {.rank = 1, .state = RankState::kCollective, .call = 3, .file = {}, .operation = "broadcast"}});
  CHECK_THAT(report.summary, ContainsSubstring("different collectives"));
  CHECK_THAT(report.summary, ContainsSubstring("broadcast (call 3)"));
}

TEST_CASE("a rank that receives while the others are in a collective is named", "[exercise]") {
  const WaitReport report = explain_waits(
      {{.rank = 0, .state = RankState::kCollective, .call = 1, .file = {}, .operation = "ncclCommInitRank"},
       {.rank = 1, .state = RankState::kReceiving, .peer = 0, .call = 1, .file = {}, .operation = {}}});
  CHECK(report.summary == "ncclCommInitRank (call 1) waits for rank 1, which is not in it: it receives from rank 0");
}

TEST_CASE("waits in different collectives are different behaviour", "[exercise]") {
  const auto fingerprint_of = [](const char* operation) {
    return explain_waits({{.rank = 0, .state = RankState::kCollective, .call = 1, .file = {}, .operation = operation}})
        .fingerprint;
  };
  CHECK(fingerprint_of("ncclCommInitRank") != fingerprint_of("ncclCommDestroy"));
}

TEST_CASE("a rank that stays out of a collective is named", "[exercise]") {
  const WaitReport report =
      explain_waits({{.rank = 0, .state = RankState::kCollective, .call = 1, .file = {}, .operation = "all_reduce"},
                     {.rank = 1, .state = RankState::kFinished}});
  CHECK_THAT(report.summary, ContainsSubstring("waits for rank 1, which is not in it"));
}

TEST_CASE("waits that form no circle are not called one", "[exercise]") {
  const WaitReport report = explain_waits(
      {{.rank = 0, .state = RankState::kReceiving, .peer = 1}, {.rank = 1, .state = RankState::kComputing}});
  CHECK_THAT(report.summary, ContainsSubstring("something that nobody will do"));
}

}  // namespace lockstep::exercise
