// The decisions of a job of many hosts, without hosts: see also agent_test.cpp.
#include <signal.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/preemption.hpp"
#include "launch/hosts/roster/agent_roster.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using namespace std::chrono_literals;

namespace {

using Time = Gathering::Time;

JoinMessage joining(const std::string& host, int node_rank, int ranks = 1) {
  JoinMessage join{.job = "night", .role = "default", .host = host, .process = 100};
  join.node_rank = node_rank;
  join.instance = "the launcher on " + host;
  join.local_world_size = ranks;
  join.min_nodes = join.max_nodes = 2;
  return join;
}

JoinMessage elastic(JoinMessage join, int min, int max) {
  join.min_nodes = min;
  join.max_nodes = max;
  return join;
}

EndCause rank_failure(int agent, int rank, int exit_code, Time when = {}) {
  return {.agent = agent, .exit_code = exit_code, .rank = rank, .text = concat("rank ", rank), .when = when};
}

/// The next step, in a word: "gather", "restart in 2.0 s", or the verdict's code.
std::string word_of(const NextStep& step) {
  if (const auto* verdict = std::get_if<VerdictMessage>(&step)) return concat("end ", verdict->exit_code);
  const auto* restart = std::get_if<Restart>(&step);
  return restart == nullptr ? "gather" : "restart in " + format_seconds(restart->pause);
}

/// A roster with a clock of its own, and what it has sent.
struct Table {
  explicit Table(JoinMessage own) : options{.address = {"a", 1}, .token = "", .own = std::move(own)} {}

  template <typename Message>
  [[nodiscard]] std::optional<Message> last(int agent) const {
    const auto found = sent.find(agent);
    const auto* message = found == sent.end() ? nullptr : std::get_if<Message>(&found->second.back());
    return message == nullptr ? std::nullopt : std::optional(*message);
  }
  void pass(Deadline::Clock::duration time) {
    now += time;
    roster.advance();
  }

  HubOptions options;
  Time now{};
  std::map<int, std::vector<AgentMessage>> sent;
  std::function<GenerationPorts(int)> open_store = [](int) { return GenerationPorts{1, 2}; };
  AgentRoster roster{options,
                     "nonce",
                     {.send = [this](int agent, const AgentMessage& message) { sent[agent].push_back(message); },
                      .open_store = [this](int generation) { return open_store(generation); },
                      .drop = [](int) {},
                      .is_alive = [](int) { return true; },
                      .hub_host_seen_by = [](int) { return "a"; },
                      .now = [this] { return now; }}};
};

}  // namespace

TEST_CASE("hosts gather until the most are there, or the last call has ended with the least", "[launch][07]") {
  const Time begin{};
  Gathering gathering({.min_hosts = 2, .max_hosts = 3, .join = 60s, .last_call = 10s}, begin);
  CHECK_FALSE(gathering.is_complete(1, begin));
  CHECK(gathering.next_deadline() == begin + 60s);
  CHECK_FALSE(gathering.is_complete(2, begin + 5s));
  CHECK(gathering.next_deadline() == begin + 15s);
  SECTION("the most are there") { CHECK(gathering.is_complete(3, begin + 6s)); }
  SECTION("the last call ends") { CHECK(gathering.is_complete(2, begin + 15s)); }
  SECTION("a host that goes ends the last call, and another one begins it again") {
    CHECK_FALSE(gathering.is_complete(1, begin + 14s));
    CHECK_FALSE(gathering.is_complete(2, begin + 16s));
    CHECK(gathering.next_deadline() == begin + 26s);
    CHECK_FALSE(gathering.has_failed(begin + 59s));
    CHECK(gathering.has_failed(begin + 60s));
  }
}

TEST_CASE("time in which the hub's process was stopped does not count for hosts that gather", "[launch][07]") {
  const JoinMessage own = joining("a", 0);
  Table table(own);
  table.roster.take(0, own);
  table.pass(59s);
  table.now += 1h;
  table.roster.excuse_pause();
  table.pass(59s);
  CHECK_FALSE(table.roster.is_over());
  table.pass(1s);
  CHECK(table.roster.is_over());
  const auto verdict = table.last<VerdictMessage>(0);
  REQUIRE(verdict);
  CHECK_THAT(verdict->summary, ContainsSubstring("not all hosts joined within 60.0 s"));
}

TEST_CASE("a generation numbers the ranks of its hosts, and remembers how they ended", "[launch][07]") {
  Generation generation(4);
  generation.add(7, 2);
  generation.add(9, 3);
  CHECK(generation.world_size() == 5);
  CHECK(generation.agent_of(1) == 7);
  CHECK(generation.agent_of(2) == 9);
  CHECK(generation.agent_of(5) == std::nullopt);
  CHECK(ranks_text(*generation.find(9)) == "ranks 2 to 4");
  generation.end(7, kRequeueExitCode);
  CHECK(generation.is_ending());
  CHECK_FALSE(generation.has_ended());
  generation.lose(7);  // what it saved is not lost with it
  CHECK(generation.agent_of(1) == std::nullopt);
  SECTION("all have saved") {
    generation.end(9, kRequeueExitCode);
    CHECK(generation.has_saved());
  }
  SECTION("a host that is lost has not saved") {
    generation.lose(9);
    CHECK(generation.has_ended());
    CHECK_FALSE(generation.has_saved());
  }
}

TEST_CASE("what came first is found, though it is heard of later", "[launch][07]") {
  const Time when = Time{} + 100s;
  FirstCause cause(rank_failure(1, 0, 3, when));
  SECTION("a rank that was killed had no other reason to end") {
    CHECK(cause.hear_failure(rank_failure(2, 5, 128 + SIGKILL), true) == "rank 5, and that came first");
    CHECK_FALSE(cause.hear_failure(rank_failure(3, 6, 128 + SIGKILL), true));  // nor had the other one
    CHECK(cause.get().rank == 5);
  }
  SECTION("any other failure is a consequence") {
    CHECK_FALSE(cause.hear_failure(rank_failure(2, 5, 3), true));
    CHECK(cause.get().rank == 0);
  }
  SECTION("the host of the rank that another host has named knows more") {
    CHECK_FALSE(cause.hear_failure(rank_failure(2, 0, 4), false));
    CHECK(cause.hear_failure(rank_failure(2, 0, 4), true) == "rank 0");
    CHECK(cause.get().exit_code == 4);
    CHECK(cause.get().when == when);
  }
  SECTION("a host that was silent by then was lost first") {
    const EndCause loss{.kind = EndCause::Kind::kHost, .agent = 2, .text = "host b is lost"};
    CHECK(cause.hear_loss(loss, when + 1s) == "host b is lost, and that came first");
    CHECK(cause.get().kind == EndCause::Kind::kHost);
  }
  SECTION("one that was heard of after that was not") {
    const EndCause loss{.kind = EndCause::Kind::kHost, .agent = 2, .text = "host b is lost"};
    CHECK(cause.hear_loss(loss, when + 2s) == "host b is lost");
    CHECK(cause.get().kind == EndCause::Kind::kRank);
  }
  SECTION("the last lines are those of the culprit's host") {
    cause.hear_end(2, {"other"});
    cause.hear_end(1, {"its own"});
    CHECK(cause.get().last_lines == std::vector<std::string>{"its own"});
  }
}

TEST_CASE("a rank that a signal to its host has ended first is no failure", "[launch][07]") {
  FirstCause cause(rank_failure(1, 0, 128 + SIGTERM));
  cause.hear_signal({.kind = EndCause::Kind::kSignal, .agent = 2, .exit_code = 128 + SIGTERM});
  CHECK(cause.get().kind == EndCause::Kind::kRank);
  cause.hear_signal({.kind = EndCause::Kind::kSignal, .agent = 1, .exit_code = 128 + SIGTERM});
  CHECK(cause.get().kind == EndCause::Kind::kSignal);
}

TEST_CASE("failures use up restarts, after pauses that grow", "[launch][07]") {
  RestartPolicy policy({.max_restarts = 4, .backoff = 1s, .longest_backoff = 3s});
  const GenerationEnd failed{.cause = rank_failure(1, 0, 3)};
  for (const char* pause : {"1.0 s", "2.0 s", "3.0 s", "3.0 s"})
    CHECK(word_of(policy.decide(failed)) == std::string("restart in ") + pause);
  CHECK(policy.restart_count() == 4);
  CHECK(word_of(policy.decide(failed)) == "end 3");
}

TEST_CASE("wrong use is not tried again, unless another number of ranks may cure it", "[launch][07]") {
  const bool is_elastic = GENERATE(false, true);
  RestartPolicy policy({.is_elastic = is_elastic, .max_restarts = 2, .backoff = 1s, .longest_backoff = 3s});
  CHECK(word_of(policy.decide({.cause = rank_failure(1, 0, 3)})) == "restart in 1.0 s");
  const NextStep next = policy.decide({.cause = rank_failure(1, 0, 2)});
  CHECK(word_of(next) == (is_elastic ? "restart in 2.0 s" : "end 2"));
  if (is_elastic) return;
  CHECK(policy.restart_count() == 1);
  CHECK_THAT(std::get<VerdictMessage>(next).summary,
             ContainsSubstring("first failure, after 1 restart: rank 0; no restart: exit code 2 means"));
  RestartPolicy used_up({.max_restarts = 0});
  CHECK(std::get<VerdictMessage>(used_up.decide({.cause = rank_failure(1, 0, 2)})).summary == "first failure: rank 0");
}

TEST_CASE("what follows a generation depends on why it ended", "[launch][07]") {
  const bool is_elastic = GENERATE(false, true);
  RestartPolicy policy({.is_elastic = is_elastic, .max_restarts = 1, .backoff = 1s, .longest_backoff = 3s});
  const auto after = [&](EndCause::Kind kind, int exit_code) {
    return GenerationEnd{.cause = EndCause{.kind = kind, .agent = 1, .exit_code = exit_code}};
  };
  CHECK(word_of(policy.decide({})) == "end 0");
  CHECK(word_of(policy.decide(after(EndCause::Kind::kMembership, 1))) == "gather");
  CHECK(word_of(policy.decide(after(EndCause::Kind::kSignal, 128 + SIGINT))) == "end 130");
  CHECK(word_of(policy.decide(after(EndCause::Kind::kSignal, 128 + SIGTERM))) == (is_elastic ? "gather" : "end 143"));
  GenerationEnd saved = after(EndCause::Kind::kPreempted, kRequeueExitCode);
  saved.have_all_saved = true;
  CHECK(word_of(policy.decide(saved)) == "end 75");
  GenerationEnd interrupted = after(EndCause::Kind::kSignal, 128 + SIGINT);
  interrupted.have_all_saved = true;  // but nobody wants the job any more
  CHECK(word_of(policy.decide(interrupted)) == "end 130");
  GenerationEnd hub_leaves = after(EndCause::Kind::kHost, 1);
  hub_leaves.hub_signal = SIGTERM;  // without it there is no next generation
  CHECK(word_of(policy.decide(hub_leaves)) == "end 143");
  CHECK(word_of(policy.decide(after(EndCause::Kind::kHost, 1))) == (is_elastic ? "gather" : "restart in 1.0 s"));
  CHECK(policy.restart_count() == (is_elastic ? 0 : 1));
}

TEST_CASE("hosts keep the places of their node ranks, and others fill up", "[launch][07]") {
  PresentHosts hosts(JobTerms(elastic(joining("a", 0), 3, 3), "a:1"));
  hosts.add(1, elastic(joining("late", -1), 3, 3));
  hosts.add(2, elastic(joining("c", 2), 3, 3));
  CHECK_FALSE(hosts.has_own());
  hosts.add(3, elastic(joining("a", 0), 3, 3));
  CHECK(hosts.describe(1) == "host late (process 100)");
  CHECK(hosts.choose() == std::vector<int>{3, 1, 2});
  CHECK(hosts.describe(1) == "host late (node rank 1)");
  CHECK_THAT(hosts.objection_to(elastic(joining("d", 2), 3, 3)), ContainsSubstring("is taken by host c"));
  CHECK(hosts.predecessor_of(elastic(joining("c", 2), 3, 3), [](int) { return true; }) == 2);
  CHECK(hosts.predecessor_of(elastic(joining("d", 2), 3, 3), [](int) { return true; }) == std::nullopt);
  CHECK(hosts.predecessor_of(elastic(joining("d", 2), 3, 3), [](int) { return false; }) == 2);
  hosts.remove(1);
  hosts.remove(2);
  CHECK_THAT(hosts.describe_missing(),
             ContainsSubstring("missing: node rank 1, node rank 2 (host c, which was there)"));
}

TEST_CASE("a roster waits as long as its clock says", "[launch][07]") {
  JoinMessage own = elastic(joining("a", -1), 1, 2);
  own.max_restarts = 1;
  Table table(own);
  AgentRoster& roster = table.roster;
  roster.take(0, own);
  table.pass(29s);
  CHECK(table.last<WelcomeMessage>(0));
  table.pass(1s);
  REQUIRE(table.last<StartMessage>(0));
  CHECK(roster.next_deadline() == Time::max());

  roster.take(0, FailureMessage{0, 0, 3, "exited with code 3", {}});
  roster.take(0, EndedMessage{0, 3, {}});
  CHECK(roster.next_deadline() == table.now + 1s);
  table.pass(1s);
  CHECK(roster.next_deadline() == table.now + 3s);  // the later call
  JoinMessage second = own;
  second.host = second.instance = "b";
  roster.take(1, second);
  CHECK(table.last<StartMessage>(1)->restart_count == 1);
  CHECK(table.last<StartMessage>(1)->generation == 1);

  roster.lose(1, "gone", table.now);
  CHECK(table.last<EndMessage>(0));
  roster.take(0, EndedMessage{1, 1, {}});
  CHECK(roster.next_deadline() == table.now + 3s);
  roster.lose(0, "gone", table.now);
  table.pass(60s);
  CHECK(roster.is_over());
}

TEST_CASE("a job whose store cannot be opened is over, and its hosts learn why", "[launch][07]") {
  const JoinMessage first = joining("a", 0), second = joining("b", 1);
  Table table(first);
  table.open_store = [](int) -> GenerationPorts { throw IoError("no descriptors"); };
  table.roster.take(0, first);
  table.roster.take(1, second);
  CHECK(table.roster.is_over());
  for (const int agent : {0, 1}) {
    REQUIRE(table.last<VerdictMessage>(agent));
    CHECK(table.last<VerdictMessage>(agent)->exit_code == 1);
    CHECK_THAT(table.last<VerdictMessage>(agent)->summary, ContainsSubstring("no descriptors"));
  }
}
