// The hub of the control plane and those who are no ranks of its job, or come when it cannot let anybody in.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/line_process_group.hpp"
#include "net/bytes.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"
#include "support/strangers.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::ControlPlane;
using comm::JobContext;
using test::soon;

namespace {

// While it lives, this process cannot open anything more.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const UniqueFd first_free(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    const rlimit lowered{static_cast<rlim_t>(first_free.get()), old_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit old_{};
};

bool hub_answers(const net::SocketAddress& hub) {
  auto stranger = net::StreamSocket::connect(hub, soon());
  stranger.send_all(net::as_bytes("GET / HTTP/1.1\r\n\r\n"), soon());
  std::array<std::byte, 1> ignored{};
  try {
    stranger.receive_exactly(ignored, soon());
  } catch (const IoError&) {  // refused: the connection is closed
    return true;
  } catch (const TimeoutError&) {
  }
  return false;
}

}  // namespace

TEST_CASE("strangers of every kind, and a thousand of them, leave the hub and the job alone", "[comm][multirank]") {
  const auto outcomes = test::run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    const auto store = context.store;
    const auto control = context.control;
    const auto hub = net::SocketAddress::parse(store->get("generation/0/control/address", soon()));
    test::LineProcessGroup group(std::move(context));
    std::vector<std::int64_t> values(1000);
    const auto reduce = [&] {
      std::ranges::fill(values, std::int64_t{1} << (3 * rank));  // 8^rank: the sum says who was counted
      group.all_reduce(comm::host_buffer(std::span(values)), comm::ReduceOp::kSum).synchronize();
      if (std::ranges::count(values, 0111) != 1000) throw Error("a wrong sum");
    };
    reduce();
    std::vector<net::StreamSocket> strangers;
    if (rank == 1) strangers = test::send_strangers(hub, 3);
    for (int i = 0; i < 1000 && rank == 2; ++i) {
      strangers.push_back(net::StreamSocket::connect(hub, soon()));
      if (strangers.size() > 200) strangers.erase(strangers.begin(), strangers.begin() + 100);
    }
    reduce();
    if (control->failure()) throw Error(control->failure()->message);
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message().empty());
}

TEST_CASE("a process that is out of descriptors keeps its heartbeats, and accepts again later", "[comm][multirank]") {
  comm::JobLimits limits = test::test_limits();
  limits.liveness = 2s;
  const auto run = [](const JobContext& context) {
    if (context.rank == 1) {
      context.store->set("joined", "");  // from here on this rank opens nothing
      return (void)context.store->get("done", soon());
    }
    const auto hub = net::SocketAddress::parse(context.store->get("generation/0/control/address", soon()));
    context.store->get("joined", soon());
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    raw.sin_port = htons(static_cast<std::uint16_t>(hub.port));
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 4; ++i) strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    {
      const NoDescriptorsLeft none;
      for (const UniqueFd& stranger : strangers) {
        if (::connect(stranger.get(), reinterpret_cast<sockaddr*>(&raw), sizeof raw) != 0) throw IoError("", errno);
      }
      std::this_thread::sleep_for(5s);
    }
    if (!hub_answers(hub)) throw Error("the hub does not answer");
    context.store->set("done", "");
    if (const auto failure = context.control->failure()) throw Error(failure->message);
  };
  for (const auto& outcome : test::run_ranks(2, run, limits)) CHECK(outcome.message() == "");
}

TEST_CASE("ranks join while strangers sit at the hub and at the store", "[comm][multirank]") {
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  const auto at_store = test::send_strangers(server.address(), 5);
  std::vector<std::string> errors(3);
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        try {
          JobContext context;
          context.rank = rank;
          context.world_size = 3;
          context.token = token;
          context.limits = test::test_limits();
          context.store = std::make_shared<store::TcpStore>(server.address(), token, 0, rank, soon());
          std::vector<net::StreamSocket> at_hub;
          if (rank == 1) {  // between the hub's start and the other ranks' coming
            at_hub = test::send_strangers(
                net::SocketAddress::parse(context.store->get("generation/0/control/address", soon())), 5);
            context.store->set("strangers are there", "");
          }
          if (rank == 2) (void)context.store->get("strangers are there", soon());
          const ControlPlane control(context, soon());
        } catch (const std::exception& error) {
          errors[rank] = error.what();
        }
      });
    }
  }
  CHECK(errors == std::vector<std::string>(3));
}
