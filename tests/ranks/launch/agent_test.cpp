// The meeting of launchers: agents in this process, over real connections.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "launch/hosts/agent_hub.hpp"
#include "launch/hosts/agent_link.hpp"
#include "net/handshake.hpp"
#include "net/token.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"
#include "support/flood.hpp"
#include "support/soon.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using namespace std::chrono_literals;
using test::soon;

namespace {

JoinMessage join_of(const std::string& host, int node_rank, int ranks = 1) {
  JoinMessage join{.job = "night",
                   .role = "default",
                   .node_rank = node_rank,
                   .host = host,
                   .process = 100,
                   .instance = "the launcher on " + host,
                   .local_world_size = ranks};
  join.min_nodes = join.max_nodes = 2;
  return join;
}

/// A hub at host a, node rank 0, and what its agents say.
class Meeting {
 public:
  explicit Meeting(JoinMessage own = join_of("a", 0)) {
    options_.address = {"127.0.0.1", 0};
    options_.token = net::make_token();
    options_.own = std::move(own);
    options_.join = 20s;
    options_.last_call = options_.later_call = 100ms;
    options_.liveness = 20s;
    options_.backoff = 1ms;
  }

  [[nodiscard]] HubOptions& options() noexcept { return options_; }

  [[nodiscard]] std::unique_ptr<AgentLink> join(JoinMessage message) {
    message.min_nodes = options_.own.min_nodes;
    message.max_nodes = options_.own.max_nodes;
    message.max_restarts = options_.own.max_restarts;
    return join_as(message, options_.token);
  }
  [[nodiscard]] std::unique_ptr<AgentLink> join_own() { return join(options_.own); }
  [[nodiscard]] std::unique_ptr<AgentLink> join_as(const JoinMessage& message, const std::string& token) {
    return std::make_unique<AgentLink>(LinkOptions{hub().address(), token, 20s, options_.liveness}, message);
  }

  /// Opened by the first who asks.
  [[nodiscard]] AgentHub& hub() {
    if (!hub_) hub_ = std::make_unique<AgentHub>(options_);
    return *hub_;
  }

 private:
  HubOptions options_;
  std::unique_ptr<AgentHub> hub_;
};

// The next message that is a `Message`; notices and welcomes before it are passed over. Throws if none comes.
template <typename Message>
Message next(AgentLink& link) {
  for (const Deadline deadline = soon(); !deadline.has_expired();) {
    pollfd watched{link.fd(), POLLIN, 0};
    ::poll(&watched, 1, deadline.poll_timeout_ms());
    while (auto message = link.receive()) {
      if (auto* expected = std::get_if<Message>(&*message)) return std::move(*expected);
      const bool is_passed_over =
          std::holds_alternative<NoticeMessage>(*message) || std::holds_alternative<WelcomeMessage>(*message);
      if (!is_passed_over) throw Error(concat("message ", message->index(), " came instead"));
    }
    if (const auto loss = link.loss()) throw Error(*loss);
  }
  throw Error("no such message");
}

std::string loss_of(AgentLink& link) {
  for (const Deadline deadline = soon(); !deadline.has_expired();) {
    pollfd watched{link.fd(), POLLIN, 0};
    ::poll(&watched, 1, deadline.poll_timeout_ms());
    while (link.receive()) continue;
    if (const auto loss = link.loss()) return *loss;
  }
  return "";
}

FailureMessage failure_of(int rank, int exit_code, int generation = 0) {
  return {generation, rank, exit_code, concat("ended with ", exit_code), {"its last words"}};
}

}  // namespace

TEST_CASE("messages of agents survive the wire, and nothing else is taken for one", "[launch]") {
  JoinMessage join = join_of("b", 1, 3);
  join.last_generation = 4;
  const std::vector<AgentMessage> messages = {
      HeartbeatMessage{},
      join,
      WelcomeMessage{"host a"},
      RefusalMessage{"no"},
      NoticeMessage{"well"},
      StartMessage{3, 1, "nonce", 1, 2, 4, 6, "10.0.0.1", 4000, 4001},
      EndMessage{3, true, "because"},
      FailureMessage{3, 5, 139, "was killed", {"one", ""}},
      LeaveMessage{15},
      EndedMessage{3, 1, {"line"}},
      VerdictMessage{1, "sum", {"a", "b"}},
  };
  REQUIRE(messages.size() == std::variant_size_v<AgentMessage>);
  for (const AgentMessage& message : messages) {
    CAPTURE(message.index());
    std::vector<std::byte> bytes = encode(message);
    CHECK(decode_agent_message(bytes) == message);
    bytes.push_back({});
    CHECK_THROWS_AS(decode_agent_message(bytes), FormatError);
    for (std::size_t cut = 0; cut + 1 < bytes.size(); ++cut)
      CHECK_THROWS_AS(decode_agent_message(std::span(bytes).first(cut)), FormatError);
  }
  CHECK_THROWS_AS(decode_agent_message(std::vector<std::byte>{std::byte{99}}), FormatError);
}

TEST_CASE("hosts with different numbers of ranks get their numbers, and all hear the end", "[launch]") {
  Meeting meeting(join_of("a", 0, 2));
  const auto second = meeting.join(join_of("b", 1, 3));
  const auto first = meeting.join_own();
  const StartMessage of_first = next<StartMessage>(*first), of_second = next<StartMessage>(*second);
  CHECK(of_first.group_rank == 0);
  CHECK(of_first.first_rank == 0);
  CHECK(of_second.group_rank == 1);
  CHECK(of_second.first_rank == 2);
  for (const StartMessage& start : {of_first, of_second}) {
    CHECK(start.world_size == 5);
    CHECK(start.group_world_size == 2);
    CHECK(start.generation == 0);
    CHECK(start.restart_count == 0);
  }
  CHECK(of_first.store_port == of_second.store_port);
  first->send(EndedMessage{0, 0, {}});
  second->send(EndedMessage{0, 0, {}});
  for (AgentLink* link : {first.get(), second.get()}) CHECK(next<VerdictMessage>(*link) == VerdictMessage{});
}

TEST_CASE("a host that does not come is named when the time to join has passed", "[launch]") {
  JoinMessage own = join_of("a", 0);
  own.min_nodes = own.max_nodes = 3;
  Meeting meeting(own);
  meeting.options().join = 2s;  // the others have come by then
  const auto first = meeting.join_own();
  const auto third = meeting.join(join_of("c", 2));
  for (AgentLink* link : {first.get(), third.get()}) {
    const VerdictMessage verdict = next<VerdictMessage>(*link);
    CHECK(verdict.exit_code == 1);
    CHECK_THAT(verdict.summary, ContainsSubstring("not all hosts joined within "));
    CHECK_THAT(verdict.summary, ContainsSubstring("host a (node rank 0), host c (node rank 2); missing: node rank 1"));
  }
}

TEST_CASE("who is not of the job is refused with the reason", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own();
  (void)next<WelcomeMessage>(*first);
  const auto refusal = [&](JoinMessage message) {
    return next<RefusalMessage>(*meeting.join_as(message, meeting.options().token)).reason;
  };
  JoinMessage other = join_of("b", 1);
  other.job = "day";
  CHECK_THAT(refusal(other), ContainsSubstring("is --rdzv-id night, not day"));
  other = join_of("b", 1);
  other.max_nodes = 4;
  CHECK_THAT(refusal(other), ContainsSubstring("was started with --nnodes 2, this launcher with --nnodes 2:4"));
  other = join_of("b", 1);
  other.max_restarts = 3;
  CHECK_THAT(refusal(other), ContainsSubstring("--max-restarts 0, this launcher with --max-restarts 3"));
  CHECK_THAT(refusal(join_of("b", 2)), ContainsSubstring("--node-rank 2 is out of range"));
  CHECK_THAT(refusal(join_of("b", 0)), ContainsSubstring("--node-rank 0 is that of the host of --rdzv-endpoint, a"));

  const auto stranger = meeting.join_as(join_of("b", 1), net::make_token());
  CHECK_THAT(loss_of(*stranger), ContainsSubstring("LOCKSTEP_TOKEN"));
  const auto second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*second);
  CHECK_THAT(refusal(join_of("c", 1)), ContainsSubstring("--node-rank 1 is taken by host b (process 100)"));
}

TEST_CASE("a failure ends the ranks of all hosts, and all hear which came first", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own(), second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  second->send(failure_of(1, 3));
  const EndMessage end = next<EndMessage>(*first);
  CHECK_FALSE(end.is_orderly);
  CHECK(end.reason == "rank 1 on host b (node rank 1) ended with 3");
  SECTION("it is the one that was heard of first") {
    first->send(failure_of(0, 1));
    first->send(EndedMessage{0, 1, {}});
    second->send(EndedMessage{0, 3, {"all its last words"}});
    for (AgentLink* link : {first.get(), second.get()}) {
      const VerdictMessage verdict = next<VerdictMessage>(*link);
      CHECK(verdict.exit_code == 3);
      CHECK(verdict.summary == "first failure: rank 1 on host b (node rank 1) ended with 3");
      CHECK(verdict.last_lines == std::vector<std::string>{"all its last words"});
    }
  }
  SECTION("but for one that was killed: that is no consequence") {
    first->send(failure_of(0, 128 + SIGKILL));
    first->send(EndedMessage{0, 1, {}});
    second->send(EndedMessage{0, 3, {}});
    CHECK_THAT(next<VerdictMessage>(*second).summary, ContainsSubstring("rank 0 on host a"));
  }
}

TEST_CASE("the verdict names the rank at fault, though a rank of another host ended first", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own(), second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  const FailureMessage told{0, 1, 1, "is at fault, as rank 0 was told, which exited with code 1", {"rank 1 left"}};
  first->send(told);
  const std::string named = "rank 1 on host b (node rank 1) is at fault, as rank 0 was told, which exited with code 1";
  CHECK(next<EndMessage>(*second).reason == named);
  SECTION("by what its own host says, if that comes in time") {
    second->send(failure_of(1, 3));
    second->send(EndedMessage{0, 3, {"all its last words"}});
    first->send(EndedMessage{0, 1, {}});
    const VerdictMessage verdict = next<VerdictMessage>(*second);
    CHECK(verdict.summary == "first failure: rank 1 on host b (node rank 1) ended with 3");
    CHECK(verdict.exit_code == 3);
    CHECK(verdict.last_lines == std::vector<std::string>{"all its last words"});
  }
  SECTION("else by what the others were told") {
    second->send(EndedMessage{0, 1, {}});
    first->send(EndedMessage{0, 1, {"rank 1 left"}});
    const VerdictMessage verdict = next<VerdictMessage>(*second);
    CHECK(verdict.summary == "first failure: " + named);
    CHECK(verdict.last_lines == std::vector<std::string>{"rank 1 left"});
  }
  SECTION("and another failure of the same host changes nothing") {
    second->send(failure_of(0, 3));
    second->send(EndedMessage{0, 3, {}});
    first->send(EndedMessage{0, 1, {"rank 1 left"}});
    CHECK(next<VerdictMessage>(*second).summary == "first failure: " + named);
  }
}

TEST_CASE("a host whose launcher is killed, or silent, is named on the others", "[launch]") {
  Meeting meeting;
  const bool is_silent = GENERATE(false, true);
  if (is_silent) meeting.options().liveness = 2s;
  const auto first = meeting.join_own();
  // Plays an agent that says nothing more.
  net::StreamSocket second = net::connect_authenticated(meeting.hub().address(), meeting.options().token,
                                                        {net::Role::kAgent, 0, -1, 0}, "hub", soon());
  net::send_frame(second, {.type = net::FrameType::kAgent}, encode(join_of("b", 1)), soon());
  (void)next<StartMessage>(*first);
  if (!is_silent) second.close();
  const EndMessage end = next<EndMessage>(*first);
  CHECK_THAT(end.reason, ContainsSubstring("host b (node rank 1) is lost: "));
  CHECK_THAT(end.reason, ContainsSubstring(is_silent ? "no sign of life for 2.0 s" : "closed the connection"));
  CHECK_THAT(end.reason, ContainsSubstring("(rank 1)"));
  first->send(EndedMessage{0, 1, {}});
  const VerdictMessage verdict = next<VerdictMessage>(*first);
  CHECK(verdict.exit_code == 1);
  CHECK_THAT(verdict.summary, ContainsSubstring("first failure: host b (node rank 1) is lost"));
}

TEST_CASE("hub and agents that were stopped for long do not take each other for dead", "[launch]") {
  Meeting meeting;
  meeting.options().liveness = 2s;
  const auto first = meeting.join_own();
  const auto second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  // As by Ctrl-Z and fg: all threads of this process.
  const std::string stop = concat("kill -STOP ", ::getpid(), "; sleep 4; kill -CONT ", ::getpid());
  CHECK(test::run_program({"sh", "-c", stop}).exit_code == 0);
  first->send(EndedMessage{0, 0, {}});
  second->send(EndedMessage{0, 0, {}});
  for (AgentLink* link : {first.get(), second.get()}) CHECK(next<VerdictMessage>(*link) == VerdictMessage{});
}

TEST_CASE("hosts that could not join while the hub was stopped have their whole time again", "[launch]") {
  Meeting meeting;
  meeting.options().liveness = 2s;
  meeting.options().join = 6s;
  const auto first = meeting.join_own();
  (void)next<WelcomeMessage>(*first);
  const std::string stop = concat("kill -STOP ", ::getpid(), "; sleep 7; kill -CONT ", ::getpid());
  CHECK(test::run_program({"sh", "-c", stop}).exit_code == 0);
  const auto second = meeting.join(join_of("b", 1));
  for (AgentLink* link : {first.get(), second.get()}) CHECK(next<StartMessage>(*link).group_world_size == 2);
}

TEST_CASE("an agent that floods the hub does not keep the others from it", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own();
  net::StreamSocket flooding = net::connect_authenticated(meeting.hub().address(), meeting.options().token,
                                                          {net::Role::kAgent, 0, -1, 0}, "hub", soon());
  test::Flood flood(flooding, {.type = net::FrameType::kAgent}, encode(AgentMessage{HeartbeatMessage{}}));
  const auto second = meeting.join(join_of("b", 1));
  CHECK(next<StartMessage>(*first).group_rank == 0);
  CHECK(flood.end());
}

TEST_CASE("an agent whose launcher has gone counts as lost, and its place is free", "[launch][07]") {
  Meeting meeting;
  meeting.options().own.max_restarts = 1;
  const auto first = meeting.join_own();
  const auto second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  second->send(LeaveMessage{kLauncherLost});
  const auto end = next<EndMessage>(*first);
  CHECK_FALSE(end.is_orderly);
  CHECK_THAT(end.reason, ContainsSubstring("host b (node rank 1) is lost: the launcher that had started it there"));
  JoinMessage again = join_of("b", 1);
  again.instance = "the next launcher on b";
  const auto third = meeting.join(again);
  first->send(EndedMessage{0, 1, {}});
  CHECK(next<StartMessage>(*third).restart_count == 1);
}

TEST_CASE("ranks that miss those of a lost host do not pass for the first failure", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own();
  auto second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  first->send(failure_of(0, 1));
  (void)next<EndMessage>(*second);
  second.reset();
  CHECK_THAT(next<NoticeMessage>(*first).text, ContainsSubstring("host b (node rank 1) is lost"));
  first->send(EndedMessage{0, 1, {}});
  CHECK_THAT(next<VerdictMessage>(*first).summary, ContainsSubstring("first failure: host b (node rank 1) is lost"));
}

TEST_CASE("a job starts again as often as it may, and old ranks cannot join", "[launch]") {
  JoinMessage own = join_of("a", 0);
  own.max_restarts = 1;
  Meeting meeting(own);
  const auto first = meeting.join_own();
  auto second = meeting.join(join_of("b", 1));
  const StartMessage start = next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  const std::string token = token_of_run(meeting.options().token, start.nonce);
  {
    store::TcpStore rank({"127.0.0.1", start.store_port}, token, 0, 0, soon());
    rank.set("key", "value");
  }
  const bool is_host_lost = GENERATE(false, true);
  if (is_host_lost) {
    second.reset();
    second = meeting.join(join_of("b", 1));  // its launcher is started again
  } else {
    second->send(failure_of(1, 3));
    second->send(EndedMessage{0, 3, {}});
  }
  (void)next<EndMessage>(*first);
  first->send(EndedMessage{0, 1, {}});
  const StartMessage again = next<StartMessage>(*first);
  CHECK(again.generation == 1);
  CHECK(again.restart_count == 1);
  CHECK(next<StartMessage>(*second).group_rank == 1);
  CHECK(again.nonce == start.nonce);

  const auto join_store = [&](const std::string& with_token, int generation) {
    try {
      store::TcpStore rank({"127.0.0.1", again.store_port}, with_token, generation, 0, soon());
      return rank.try_get("key").value_or("nothing");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(join_store(token, 1) == "nothing");
  CHECK_THAT(join_store(token, 0), ContainsSubstring("is in generation 1 of the job, this rank in 0"));
  CHECK_THAT(join_store(token_of_run(meeting.options().token, "another run"), 1), ContainsSubstring("token"));
  CHECK_THAT(join_store(meeting.options().token, 1), ContainsSubstring("token"));

  first->send(failure_of(0, 4, 1));
  (void)next<EndMessage>(*second);
  first->send(EndedMessage{1, 4, {}});
  second->send(EndedMessage{1, 1, {}});
  const VerdictMessage verdict = next<VerdictMessage>(*second);
  CHECK(verdict.exit_code == 4);
  CHECK_THAT(verdict.summary, ContainsSubstring("first failure, after 1 restart: rank 0 on host a (node rank 0)"));
}

TEST_CASE("an elastic job grows and shrinks with its hosts, and that is no restart", "[launch]") {
  JoinMessage own = join_of("a", -1);
  own.min_nodes = 1;
  own.max_nodes = 2;
  Meeting meeting(own);
  const auto first = meeting.join_own();
  CHECK(next<StartMessage>(*first).group_world_size == 1);  // once nobody else has come

  auto second = meeting.join(join_of("b", -1, 2));
  const EndMessage grows = next<EndMessage>(*first);
  CHECK(grows.is_orderly);
  CHECK_THAT(grows.reason, ContainsSubstring("host b (process 100) has come"));
  first->send(EndedMessage{0, 128 + SIGTERM, {}});
  StartMessage start = next<StartMessage>(*first);
  CHECK(start.generation == 1);
  CHECK(start.world_size == 3);
  CHECK(next<StartMessage>(*second).first_rank == 1);

  const auto spare = meeting.join(join_of("c", -1));
  CHECK_THAT(next<NoticeMessage>(*spare).text, ContainsSubstring("waiting as a spare"));
  SECTION("a host that is lost makes room for the spare") { second.reset(); }
  SECTION("so does one that is asked to go") {
    second->send(LeaveMessage{SIGTERM});
    second->send(EndedMessage{1, 128 + SIGTERM, {}});
  }
  (void)next<EndMessage>(*first);
  first->send(EndedMessage{1, 1, {}});
  start = next<StartMessage>(*first);
  CHECK(start.generation == 2);
  CHECK(start.restart_count == 0);
  CHECK(start.world_size == 2);
  CHECK(next<StartMessage>(*spare).group_rank == 1);
}

TEST_CASE("Ctrl-C on one host ends the job on all", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own(), second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  second->send(LeaveMessage{SIGINT});
  const EndMessage end = next<EndMessage>(*first);
  CHECK(end.is_orderly);
  CHECK(end.reason == "host b (node rank 1) was asked to end by SIGINT");
  second->send(EndedMessage{0, 128 + SIGINT, {}});
  first->send(EndedMessage{0, 1, {}});
  CHECK(next<VerdictMessage>(*first).exit_code == 128 + SIGINT);
}

TEST_CASE("a job whose ranks have all saved when it had to make room ends with the code that requeues", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own(), second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  SECTION("one host is asked") {
    second->send(LeaveMessage{SIGTERM});
    CHECK(next<EndMessage>(*first).is_orderly);
    second->send(EndedMessage{0, 75, {}});
  }
  SECTION("the ranks of one host are asked") {
    second->send(EndedMessage{0, 75, {}});
    const EndMessage end = next<EndMessage>(*first);
    CHECK(end.is_orderly);
    CHECK_THAT(end.reason, ContainsSubstring("have saved"));
  }
  SECTION("the hub's own host is asked") {
    first->send(LeaveMessage{SIGUSR2});
    CHECK(next<EndMessage>(*second).is_orderly);
    second->send(EndedMessage{0, 75, {}});
  }
  first->send(EndedMessage{0, 75, {}});
  const VerdictMessage verdict = next<VerdictMessage>(*second);
  CHECK(verdict.exit_code == 75);
  CHECK_THAT(verdict.summary, ContainsSubstring("all ranks have saved"));
}

TEST_CASE("a job that had to make room has failed if not all of its ranks have saved", "[launch]") {
  Meeting meeting;
  const auto first = meeting.join_own(), second = meeting.join(join_of("b", 1));
  (void)next<StartMessage>(*first);
  (void)next<StartMessage>(*second);
  second->send(LeaveMessage{SIGTERM});
  (void)next<EndMessage>(*first);
  second->send(EndedMessage{0, 75, {}});
  first->send(EndedMessage{0, 1, {}});
  CHECK(next<VerdictMessage>(*first).exit_code == 128 + SIGTERM);
}

TEST_CASE("an agent that finds no hub says where it looked", "[launch]") {
  net::SocketAddress nobody;
  { nobody = Meeting().hub().address(); }
  AgentLink link({nobody, net::make_token(), 400ms, 20s}, join_of("b", 1));
  CHECK_THAT(loss_of(link), ContainsSubstring("no launcher to meet at " + nobody.text()));
}
