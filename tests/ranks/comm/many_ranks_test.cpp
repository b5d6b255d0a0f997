// Jobs of hundreds of ranks: who is at fault is found as among few, and what is said stays short. Ranks tell the
// control plane what they are in and exchange no data.
#include <latch>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/fingerprints.hpp"
#include "comm/played_ranks.hpp"
#include "net/descriptor_limit.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::Failure;
using comm::FailureKind;
using comm::JobContext;
using test::all_reduce;
using test::enter;
using test::run_ranks_for;
using test::soon;
using test::verdict;

namespace {

constexpr int kManyRanks = 200;
constexpr std::size_t kShort = 600;  // of each rank a word would be more

// All ranks are threads of this process: two connections each, and both ends of them.
void open_enough_descriptors() { net::require_descriptors(10 * kManyRanks, "this test"); }

}  // namespace

TEST_CASE("of hundreds of ranks the one that calls something else is named to all", "[comm][multirank]") {
  open_enough_descriptors();
  std::latch all_others(kManyRanks - 1);  // before them rank 77 would be found, and they would be in nothing
  const auto failures = run_ranks_for<Failure>(kManyRanks, [&](const JobContext& context) {
    if (context.rank == 77) all_others.wait();
    enter(context, 0, all_reduce(0, context.rank == 77 ? 11 : 10));
    if (context.rank != 77) all_others.count_down();
    return verdict(context);
  });
  for (const Failure& failure : failures) {
    CHECK(failure.kind == FailureKind::kMismatch);
    CHECK(failure.culprit == 77);
    CHECK(failure.message == failures.front().message);
  }
  const std::string& message = failures.front().message;
  CHECK_THAT(message,
             ContainsSubstring("[rank 77: all_reduce #0 (sum of 11 float32); ranks 0-76, 78-199: all_reduce #0 (sum of "
                               "10 float32)]; rank 77 differs from the others"));
  CHECK(message.size() < kShort);
}

TEST_CASE("where hundreds of ranks have left a collective out, they are named together", "[comm][multirank]") {
  open_enough_descriptors();
  std::latch all_even_ranks(kManyRanks / 2);
  const auto failures = run_ranks_for<Failure>(kManyRanks, [&](const JobContext& context) {
    if (context.rank % 2 == 0) {
      enter(context, 0, all_reduce(0));
      all_even_ranks.count_down();
    }
    if (context.rank == 150) all_even_ranks.wait();
    if (context.rank == 150) enter(context, 0, all_reduce(1));
    if (context.rank == 150) context.control->abort({FailureKind::kTimeout, -1, "rank 150: waited long enough"});
    return verdict(context);
  });
  const std::string& message = failures.front().message;
  CHECK_THAT(message, ContainsSubstring("rank 150: waited long enough; not entered by ranks "));
  CHECK_THAT(message, ContainsSubstring("1, 3, 5, 7, 9, 11, 13, 15 and 92 more (has entered nothing)"));
  CHECK(message.size() < kShort);
}

TEST_CASE("groups of hundreds of ranks are apart, and a disagreement in one names its rank", "[comm][multirank]") {
  open_enough_descriptors();
  std::latch all_others(kManyRanks - 1);  // against one other rank, rank 91 would be no outlier
  const auto failures = run_ranks_for<Failure>(kManyRanks, [&](const JobContext& context) {
    std::vector<int> half(kManyRanks / 2);  // even ranks, odd ranks
    std::iota(half.begin(), half.end(), 0);
    for (int& member : half) member = 2 * member + context.rank % 2;
    const int group = 7;  // both halves use the number
    context.control->register_group(group, half);
    // Rank 91 calls what the ranks of the other half call.
    if (context.rank == 91) all_others.wait();
    enter(context, group, all_reduce(0, context.rank % 2 == 0 || context.rank == 91 ? 10 : 11));
    if (context.rank != 91) all_others.count_down();
    return verdict(context);
  });
  for (const Failure& failure : failures) CHECK(failure.culprit == 91);
  CHECK(failures.front().message.size() < kShort + 200);  // "of group 7", twice
}

TEST_CASE("calls that hundreds of ranks post are agreed on, and a rank that posts another is named",
          "[comm][multirank]") {
  open_enough_descriptors();
  const auto failures = run_ranks_for<Failure>(kManyRanks, [](const JobContext& context) {
    for (std::uint64_t number = 0; number < 3; ++number) {
      context.control->post(0, all_reduce(number));
      context.control->wait_until_agreed(0, all_reduce(number), soon());
    }
    context.control->post(0, all_reduce(3, context.rank == 5 ? 11 : 10));
    return verdict(context);
  });
  CHECK(failures.front().kind == FailureKind::kMismatch);
  CHECK_THAT(failures.front().message, ContainsSubstring("rank 5 all_reduce #3 (sum of 11 float32)"));
}

TEST_CASE("ranks that wait for one of many learn who it is from the first that has asked", "[comm][multirank]") {
  constexpr int kJoining = 50;  // of a job of one more
  open_enough_descriptors();
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  std::vector<std::string> errors(kJoining);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kJoining; ++rank) {
      threads.emplace_back([&, rank] {
        comm::RendezvousOptions options;
        options.rank = options.local_rank = rank;
        options.world_size = options.local_world_size = kJoining + 1;
        options.generation = 0;
        options.token = token;
        options.store = server.address().text();
        options.limits = test::test_limits();
        options.limits->join = 2s;
        try {
          (void)comm::rendezvous("env://", options);
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(rank)] = error.what();
        }
      });
    }
  }
  for (const std::string& error : errors) CHECK_THAT(error, ContainsSubstring("; present: 0-49; missing: 50"));
  store::TcpStore store(server.address(), token, 0, -1, soon());
  CHECK(store.try_get("generation/0/join/missing") == "; present: 0-49; missing: 50");
}
