#include "comm/rendezvous.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/joining/versions.hpp"
#include "net/handshake.hpp"
#include "net/tcp_listener.hpp"
#include "store/file_store.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::rendezvous;
using comm::RendezvousOptions;

namespace {

using Variables = std::map<std::string, std::string>;

// Sets variables for the length of a test; an empty value unsets.
class Environment {
 public:
  explicit Environment(Variables values) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCKSTEP_TOKEN",
          "LOCKSTEP_GENERATION", "LOCKSTEP_STORE", "LOCKSTEP_PORT", "LOCKSTEP_FLIGHT_DIR", "LOCKSTEP_BIND_ADDRESS",
          "LOCKSTEP_TOKEN_FILE", "TORCHELASTIC_RUN_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
    names_ = std::move(values);
  }
  ~Environment() {
    for (const auto& [name, value] : names_) ::unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Variables names_;
};

std::string error_of_env() {
  try {
    (void)rendezvous("env://");
  } catch (const Error& error) {
    return error.what();
  }
  return "joined";
}

// Runs one thread per entry, each joining with its own options over a store of the test's; returns the errors.
std::vector<test::RankOutcome> join(std::vector<RendezvousOptions> processes) {
  const Environment clean({});
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  std::vector<test::RankOutcome> outcomes(processes.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    threads.emplace_back([&, i] {
      RendezvousOptions options = processes[i];
      if (!options.token) options.token = token;
      options.store = server.address().text();
      options.limits = test::test_limits();
      options.limits->join = processes[i].limits ? processes[i].limits->join : 10s;
      try {
        (void)rendezvous("env://", options);
      } catch (...) {
        outcomes[i].error = std::current_exception();
      }
    });
  }
  threads.clear();
  return outcomes;
}

RendezvousOptions process(int rank, int world_size) {
  RendezvousOptions options;
  options.rank = rank;
  options.world_size = world_size;
  return options;
}

}  // namespace

TEST_CASE("a rank whose launcher does not answer asks about the launcher, not about rank 0", "[comm]") {
  const Environment clean({});
  const net::TcpListener silent;
  RendezvousOptions options;
  options.rank = 1;
  options.world_size = 2;
  options.token = net::make_token();
  options.store = silent.address().text();
  options.limits = test::test_limits();
  options.limits->join = 200ms;
  CHECK_THROWS_WITH(rendezvous("env://", options),
                    ContainsSubstring("is the launcher") && !ContainsSubstring("has rank 0 started"));
}

TEST_CASE("a rank whose collectives cannot be recorded joins nevertheless", "[comm]") {
  const Environment environment({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCKSTEP_FLIGHT_DIR", "/proc/nothing"}});
  CHECK(rendezvous("env://").flight_recorder == nullptr);
}

TEST_CASE("world size 1 needs no network and no token", "[comm]") {
  const Environment environment({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  const auto context = rendezvous("env://");
  CHECK(context.world_size == 1);
  CHECK(context.store == nullptr);
  CHECK(context.control == nullptr);
}

TEST_CASE("every wrong environment is its own error", "[comm]") {
  const auto error = [](const Variables& values) {
    const Environment environment(values);
    return error_of_env();
  };
  CHECK_THAT(error({}), ContainsSubstring("the variable RANK is not set"));
  CHECK_THAT(error({{"RANK", "0"}}), ContainsSubstring("the variable WORLD_SIZE is not set"));
  CHECK_THAT(error({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), ContainsSubstring("RANK=x"));
  CHECK_THAT(error({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), ContainsSubstring("RANK=-1"));
  CHECK_THAT(error({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), ContainsSubstring("rank 2 is out of range"));
  CHECK_THAT(error({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), ContainsSubstring("MASTER_ADDR is not set"));
  const Variables named{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}};
  CHECK_THAT(error(named), ContainsSubstring("MASTER_PORT is not set"));
  Variables values = named;
  values["MASTER_PORT"] = "70000";
  CHECK_THAT(error(values), ContainsSubstring("MASTER_PORT=70000"));
  values["MASTER_PORT"] = "29500";
  values["MASTER_ADDR"] = "10.0.0.1";
  CHECK_THAT(error(values), ContainsSubstring("LOCKSTEP_TOKEN is not set"));
  CHECK_THAT(error({{"LOCKSTEP_STORE", "nonsense"}}), ContainsSubstring("not host:port"));
}

TEST_CASE("an init method that is none, or lacks a rank, says what it needs", "[comm]") {
  const Environment environment({});
  CHECK_THROWS_WITH(rendezvous("mpi://"), ContainsSubstring("neither env:// nor tcp://"));
  CHECK_THROWS_WITH(rendezvous("tcp://localhost:5000"), ContainsSubstring("?rank=R&world_size=N"));
  CHECK_THROWS_WITH(rendezvous("tcp://localhost:5000?rank=1&world_size=1"), ContainsSubstring("out of range"));
  CHECK_THROWS_WITH(rendezvous("tcp://localhost:5000?rank=a&world_size=2"), ContainsSubstring("rank=a"));
  CHECK_THROWS_WITH(rendezvous("tcp://localhost?rank=0&world_size=2"), ContainsSubstring("host:port"));
  CHECK(rendezvous("tcp://localhost:5000?rank=0&world_size=1").world_size == 1);
}

TEST_CASE("ranks meet at rank 0's own store, by address and by environment", "[comm][multirank]") {
  const std::string token = net::make_token();
  const net::SocketAddress address = net::TcpListener().address();  // free again at the end of this line
  const Environment environment(
      {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(address.port)}, {"LOCKSTEP_TOKEN", token}});
  for (const std::string& method : {concat("tcp://", address.text()), std::string("env://")}) {
    std::vector<std::string> errors(3);
    {
      std::vector<std::jthread> ranks;
      for (int rank = 0; rank < 3; ++rank) {
        ranks.emplace_back([&, rank] {
          try {
            const auto context = rendezvous(method, process(rank, 3));
            if (context.rank != rank || context.world_size != 3) errors[rank] = "wrong rank";
          } catch (const std::exception& error) {
            errors[rank] = error.what();
          }
        });
      }
    }
    CHECK(errors == std::vector<std::string>(3));
  }
}

TEST_CASE("ranks that never come are listed beside those that did", "[comm][multirank]") {
  RendezvousOptions first = process(0, 4), third = process(2, 4);
  first.limits = third.limits = comm::JobLimits{};
  first.limits->join = third.limits->join = 2s;  // both have come by then
  for (const auto& outcome : join({first, third})) {
    CHECK(outcome.is<TimeoutError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("present: 0, 2; missing: 1, 3"));
  }
}

TEST_CASE("two processes of one rank are told so, and so are all others", "[comm][multirank]") {
  for (const auto& outcome : join({process(0, 3), process(1, 3), process(1, 3)})) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("two processes have RANK=1"));
  }
}

TEST_CASE("ranks that disagree on the world size are told both", "[comm][multirank]") {
  for (const auto& outcome : join({process(0, 2), process(1, 3)})) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("2 on rank 0") && ContainsSubstring("3 on rank 1"));
  }
}

TEST_CASE("a rank with another token is told so", "[comm][multirank]") {
  RendezvousOptions stranger = process(1, 2);
  stranger.token = net::make_token();
  RendezvousOptions alone = process(0, 2);
  alone.limits = comm::JobLimits{};
  alone.limits->join = 300ms;
  const auto outcomes = join({alone, stranger});
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("missing: 1"));
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("LOCKSTEP_TOKEN"));
}

TEST_CASE("a port that another program has is named with what to do", "[comm]") {
  const net::TcpListener taken;
  const Environment environment(Variables{{"LOCKSTEP_TOKEN", net::make_token()}});
  CHECK_THROWS_WITH(rendezvous(concat("tcp://", taken.address().text(), "?rank=0&world_size=2")),
                    ContainsSubstring(taken.address().text()) && ContainsSubstring("another MASTER_PORT"));
}

TEST_CASE("limits come from the environment, and a debugger has all the time it wants", "[comm]") {
  {
    const Environment environment({{"LOCKSTEP_LIVENESS_SECONDS", "0.5"}, {"LOCKSTEP_PROGRESS_SECONDS", "7"}});
    CHECK(comm::limits_from_environment().liveness == 500ms);
    CHECK(comm::limits_from_environment().progress == 7s);
    CHECK(comm::limits_from_environment().join == 60s);
  }
  {
    const Environment environment(Variables{{"LOCKSTEP_DEBUGGER", "1"}});
    CHECK(comm::limits_from_environment().liveness > 1h);
    CHECK(comm::limits_from_environment().progress > 1h);
  }
  const Environment environment(Variables{{"LOCKSTEP_JOIN_SECONDS", "soon"}});
  CHECK_THROWS_WITH(comm::limits_from_environment(), ContainsSubstring("LOCKSTEP_JOIN_SECONDS=soon"));
}

TEST_CASE("rank 0 warns once of a backend that strangers can talk to", "[comm]") {
  comm::JobContext context;
  context.world_size = 2;
  context.bind_address = "10.0.0.1";
  const test::CapturedStderr captured;
  comm::JobContext within_host = context, other = context, alone = context;
  within_host.bind_address = "127.0.0.1";
  other.rank = 1;
  alone.world_size = 1;
  for (const comm::JobContext& quiet : {within_host, other, alone}) comm::warn_unauthenticated(quiet, "gloo");
  CHECK(captured.text().empty());
  for (int i = 0; i < 3; ++i) comm::warn_unauthenticated(context, "gloo");
  const std::string text = captured.text();
  CHECK_THAT(text, ContainsSubstring("gloo does not authenticate") && ContainsSubstring("10.0.0.1"));
  CHECK(text.find("gloo") == text.rfind("gloo"));
}

TEST_CASE("rank 0 warns once of what is not the same on all ranks", "[comm][multirank]") {
  const Environment clean({});
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  const auto soon = Deadline::after(10s);
  std::string text;
  {
    const test::CapturedStderr captured;
    std::jthread played([&] {  // rank 1, of another version
      store::TcpStore store(server.address(), token, 0, 1, soon);
      const std::string prefix = "generation/0/join/";
      store.compare_set(prefix + "world_size", "", "2 on rank 1");
      comm::Versions other = comm::own_versions();
      other.lockstep = "9.9.9";
      comm::publish_versions(store, prefix, 1, other);
      if (store.add(prefix + "count", 1) == 2) store.compare_set(prefix + "verdict", "", "ok");
      const auto hub = net::SocketAddress::parse(store.get("generation/0/control/address", soon));
      auto control = net::connect_authenticated(hub, token, {net::Role::kControl, 0, 1, 0}, "hub", soon);
      (void)store.get("done", soon);
    });
    RendezvousOptions options = process(0, 2);
    options.token = token;
    options.store = server.address().text();
    const auto context = rendezvous("env://", options);
    text = captured.text();
    context.store->set("done", "");
  }
  CHECK_THAT(text,
             ContainsSubstring("rank 0: warning: ranks differ in lockstep: ") && ContainsSubstring("9.9.9 on rank 1"));
  CHECK(text.find("ranks differ") == text.rfind("ranks differ"));
}

namespace {

// Joins `world_size` ranks as threads through a file; returns their errors.
std::vector<std::string> join_through(const std::filesystem::path& file, int world_size, int generation = 0) {
  std::vector<std::string> errors(static_cast<std::size_t>(world_size));
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        RendezvousOptions options;
        options.generation = generation;
        const auto method = concat("file://", file.string(), "?rank=", rank, "&world_size=", world_size);
        const auto context = rendezvous(method, options);
        if (context.rank != rank || context.world_size != world_size) throw Error("another place");
        if (context.store->add(concat("met/", generation), 1) > world_size) throw Error("keys of another run");
        context.store->set(concat("mine/", rank), context.token);
        if (context.store->get(concat("mine/", (rank + 1) % world_size), Deadline::after(10s)) != context.token) {
          throw Error("another token");
        }
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  ranks.clear();
  return errors;
}

}  // namespace

TEST_CASE("ranks meet through a file, again and again, and leave nothing", "[comm][multirank]") {
  const Environment clean({});
  const test::TemporaryFolder folder;
  for (const int world_size : {2, 3, 5}) {
    CHECK(join_through(folder / "meet", world_size) == std::vector<std::string>(static_cast<std::size_t>(world_size)));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("a file that a crashed run has left confuses nobody", "[comm][multirank]") {
  const Environment clean({});
  const test::TemporaryFolder folder;
  {  // keeps a copy of the middle of a run, as SIGKILL would
    const store::FileStore store(folder / "meet", Deadline::after(10s));
    CHECK(join_through(folder / "meet", 2) == std::vector<std::string>(2));
    std::filesystem::copy_file(folder / "meet", folder / "left");
  }
  std::filesystem::rename(folder / "left", folder / "meet");
  REQUIRE(std::filesystem::file_size(folder / "meet") > 0);
  CHECK(join_through(folder / "meet", 2) == std::vector<std::string>(2));
}

TEST_CASE("a rank of an earlier run that still lives is named instead of met", "[comm][multirank]") {
  const Environment clean({});
  const test::TemporaryFolder folder;
  store::FileStore alive(folder / "meet", Deadline::after(10s));  // it hangs, and holds the file
  CHECK(join_through(folder / "meet", 2) == std::vector<std::string>(2));
  for (const int rank : {0, 1}) alive.set(concat("generation/0/join/rank/", rank), "process 1 on another host");
  for (const std::string& error : join_through(folder / "meet", 2)) {
    CHECK_THAT(error, ContainsSubstring("two processes have RANK="));
  }
  CHECK(join_through(folder / "meet", 2, 1) ==
        std::vector<std::string>(2));  // a restart counts up, and its keys are others
}

TEST_CASE("a file that others can read is no place to meet", "[comm]") {
  const Environment clean({});
  const test::TemporaryFolder folder;
  std::ofstream(folder / "meet") << "";
  std::filesystem::permissions(folder / "meet", std::filesystem::perms(0644));
  CHECK_THROWS_WITH(rendezvous(concat("file://", (folder / "meet").string(), "?rank=0&world_size=2")),
                    ContainsSubstring("not a file of this user alone"));
}
