#include "exercise/wait_graph.hpp"

#include "base/text.hpp"
#include "exercise/trial_layout.hpp"
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

TEST_CASE("a message shorter than the memory it is received into is named, and is no circle", "[exercise]") {
  const auto exchange = [](int rank, const char* operation, std::uint64_t done, std::uint64_t bytes) {
    return RankSnapshot{.rank = rank,
                        .state = RankState::kExchanging,
                        .peer = 1 - rank,
                        .bytes = bytes,
                        .bytes_done = done,
                        .operation = operation};
  };
  const WaitReport longer = explain_waits({exchange(0, kRestReceives, 12, 20), exchange(1, kRestReceives, 12, 20)});
  CHECK(longer.summary == "rank 0 waits for 20 bytes from rank 1, which has sent 12 and sends no more");
  const WaitReport shorter =
      explain_waits({exchange(0, kRestSends, 12, 20), {.rank = 1, .state = RankState::kFinished}});
  CHECK(shorter.summary == "rank 0 sends 20 bytes to rank 1, which takes no more of them than 12");
  const WaitReport received =
      explain_waits({{.rank = 0, .state = RankState::kReceiving, .peer = 1, .bytes = 64, .bytes_done = 16},
                     {.rank = 1, .state = RankState::kReceiving, .peer = 0, .bytes = 16}});
  CHECK(received.summary == "rank 0 waits for 64 bytes from rank 1, which has sent 16 and sends no more");
  CHECK(received.fingerprint != explain_waits({{.rank = 0, .state = RankState::kReceiving, .peer = 1, .bytes = 16},
                                               {.rank = 1, .state = RankState::kReceiving, .peer = 0, .bytes = 16}})
                                    .fingerprint);
}

TEST_CASE("a transfer that both ends still take part in is no difference of lengths", "[exercise]") {
  const WaitReport report =
      explain_waits({{.rank = 0, .state = RankState::kReceiving, .peer = 1, .bytes = 64, .bytes_done = 16},
                     {.rank = 1, .state = RankState::kSending, .peer = 0, .bytes = 64, .bytes_done = 16}});
  CHECK_THAT(report.summary, ContainsSubstring("rank 0 waits for rank 1, which waits for rank 0"));
}

TEST_CASE("ranks that have sent do not receive before they send", "[exercise]") {
  const auto rest = [](int rank, int peer) {
    return RankSnapshot{
        .rank = rank, .state = RankState::kExchanging, .peer = peer, .bytes = 16, .operation = kRestReceives};
  };
  const WaitReport report = explain_waits({rest(0, 1), rest(1, 2), rest(2, 0)});
  CHECK_THAT(report.summary, ContainsSubstring("all three have sent, but nothing comes from where they receive"));
}

TEST_CASE("an exception at a closed connection says which lengths to compare", "[exercise]") {
  const RankSnapshot partly{.rank = 0, .bytes = 20, .bytes_done = 12};
  const std::string closed = concat("receiving from rank 3", kClosedConnection);
  CHECK_THAT(advice_on_exception(partly, closed), ContainsSubstring("12 of the 20 bytes"));
  CHECK_THAT(advice_on_exception({.rank = 0}, closed), ContainsSubstring("count the messages"));
  CHECK_THAT(advice_on_exception({.rank = 0}, closed + kUnreadBytes), ContainsSubstring("left bytes unread"));
  CHECK(advice_on_exception(partly, "something else") == "");
}

}  // namespace lockstep::exercise
