// A process that joins its job again, as programs do that call init_process_group twice.
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/line_process_group.hpp"
#include "comm/rendezvous.hpp"
#include "net/tcp_listener.hpp"
#include "net/token.hpp"
#include "store/file_store.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::rendezvous;
using comm::RendezvousOptions;

namespace {

constexpr int kRanks = 3, kTimes = 3;

// Where the ranks meet, for each of them.
using Place = std::function<std::string(RendezvousOptions&)>;

std::int64_t sum_of(test::LineProcessGroup& group, std::int64_t own) {
  std::vector<std::int64_t> values{own};
  group.all_reduce(comm::host_buffer(std::span(values))).synchronize();
  return values.front();
}

// Runs `rank_main` as each rank, with options for rendezvous() and its method; returns the messages of their errors.
std::vector<std::string> errors_of(const Place& place,
                                   const std::function<void(const std::string&, const RendezvousOptions&)>& rank_main) {
  std::vector<std::string> errors(kRanks);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        RendezvousOptions options;
        options.rank = options.local_rank = rank;
        options.world_size = options.local_world_size = kRanks;
        options.generation = 0;
        options.limits = test::test_limits();
        const std::string method = place(options);
        rank_main(method, options);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  ranks.clear();
  return errors;
}

// Joins again and again; each time rank `last` leaves last, so that the others are ahead of it.
void join_repeatedly(const std::string& method, const RendezvousOptions& options, int last) {
  for (int time = 0; time < kTimes; ++time) {
    {
      test::LineProcessGroup group(rendezvous(method, options));
      const std::int64_t sum = sum_of(group, (1 + time) << (8 * group.rank()));
      if (sum != (1 + time) * 0x010101) throw Error(concat("the sum is ", sum, " the time number ", time));
      if (group.rank() == last) std::this_thread::sleep_for(100ms);
    }
  }
}

}  // namespace

TEST_CASE("ranks may join a job again, wherever they meet and whoever is ahead", "[comm][multirank]") {
  const int last = GENERATE(0, 1, 2);
  const auto again = [last](const std::string& method, const RendezvousOptions& options) {
    join_repeatedly(method, options, last);
  };
  const std::string token = net::make_token();
  {
    INFO("at a launcher's store");
    store::TcpStoreServer server({}, token);
    const auto place = [&](RendezvousOptions& options) {
      options.store = server.address().text();
      options.token = token;
      return "env://";
    };
    CHECK(errors_of(place, again) == std::vector<std::string>(kRanks));
  }
  {
    INFO("at rank 0's store");
    const std::string method = "tcp://" + net::TcpListener().address().text();  // free again at the end of this line
    const auto place = [&](RendezvousOptions& options) {
      options.token = token;
      return method;
    };
    CHECK(errors_of(place, again) == std::vector<std::string>(kRanks));
  }
  {
    INFO("through a file");
    const test::TemporaryFolder folder;
    const auto place = [&](RendezvousOptions&) { return concat("file://", (folder / "meet").string()); };
    CHECK(errors_of(place, again) == std::vector<std::string>(kRanks));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("a second group may be made while the first one lives", "[comm][multirank]") {
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  const auto place = [&](RendezvousOptions& options) {
    options.store = server.address().text();
    options.token = token;
    return "env://";
  };
  const auto errors = errors_of(place, [](const std::string& method, const RendezvousOptions& options) {
    test::LineProcessGroup first(rendezvous(method, options));
    test::LineProcessGroup second(rendezvous(method, options));
    if (sum_of(second, 1) != 3 || sum_of(first, 2) != 6 || sum_of(second, 3) != 9) throw Error("a wrong sum");
  });
  CHECK(errors == std::vector<std::string>(kRanks));
}

TEST_CASE("a rank that joins again alone is told who is missing, not that there are two of it", "[comm][multirank]") {
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  const auto place = [&](RendezvousOptions& options) {
    options.store = server.address().text();
    options.token = token;
    return "env://";
  };
  const auto errors = errors_of(place, [](const std::string& method, const RendezvousOptions& options) {
    (void)rendezvous(method, options);
    RendezvousOptions impatient = options;
    impatient.limits->join = 1s;
    if (options.rank == 1) (void)rendezvous(method, impatient);
  });
  CHECK(errors[0] == "");
  CHECK_THAT(errors[1], ContainsSubstring("not all ranks joined") && ContainsSubstring("present: 1; missing: 0, 2"));
}
