#include "launch/hosts/agent_progress.hpp"

#include <string>
#include <vector>

#include "launch/hosts/host_retry.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using namespace std::chrono_literals;

TEST_CASE("an agent's reports are told from what its ranks and the login shell print", "[launch]") {
  std::vector<std::string> shown;
  AgentProgress agent("<mark>", [&](OutputStream, std::string_view line) { shown.emplace_back(line); });
  const auto print = [&](const std::string& line) { agent.take_line(OutputStream::kOut, line + "\n"); };
  const auto report = [](const HostReport& what) { return encode(what, "<mark>"); };
  using Step = AgentProgress::Step;

  print("Welcome to this host");
  agent.take_line(OutputStream::kErr, "a warning of ssh\r\n");
  CHECK(agent.step() == Step::kStarting);
  CHECK(agent.last_line() == "a warning of ssh");
  print(std::string(kAgentGreeting));
  CHECK(agent.step() == Step::kGreeted);
  agent.note_order();
  print(report({HostReport::Kind::kMeeting, 4000, {}}));
  CHECK(agent.port() == 4000);
  print("not of a rank: none has started");
  CHECK(shown.empty());

  print(report({HostReport::Kind::kStarted, 0, {}}));
  CHECK(agent.step() == Step::kStarted);
  print("step 1");
  print("half a line" + report({HostReport::Kind::kEnded, 3, {}}));
  CHECK(shown == std::vector<std::string>{"step 1\n", "half a line\n"});
  CHECK(agent.exit_code() == 3);

  agent.begin();
  CHECK(agent.step() == Step::kStarting);
  CHECK(agent.has_ever_started());
  CHECK_FALSE(agent.exit_code());
}

TEST_CASE("a host is tried again after pauses that begin anew once it was back", "[launch]") {
  HostRetry retry(1s, 60s);
  CHECK(retry.note_problem("cannot be reached"));
  CHECK_FALSE(retry.note_problem("cannot be reached"));
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    retry.schedule();
    CHECK(retry.next_attempt().remaining() <= pause);
    CHECK(retry.next_attempt().remaining() > pause / 2);
  }
  CHECK_FALSE(retry.is_exhausted());
  retry.note_success();
  CHECK_FALSE(retry.has_problem());
  retry.schedule();
  CHECK(retry.next_attempt().remaining() <= 1s);
  retry.cancel();
  CHECK(retry.next_attempt().is_never());
}

TEST_CASE("a host that has not come back in time is given up", "[launch]") {
  HostRetry retry(1s, 0s);
  CHECK_FALSE(retry.is_exhausted());
  retry.schedule();
  CHECK(retry.is_exhausted());
}
