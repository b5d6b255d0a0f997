#include "exercise/collectives.hpp"

#include <sys/socket.h>

#include <cmath>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;
using Kind = CollectiveEvent::Kind;

// The two ends of a connection between ranks `a` and `b`, that of `a` first.
std::pair<Link, Link> connect(int a, int b) {
  int fds[2] = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "no sockets");
  return {Link(UniqueFd(fds[0]), b, nullptr), Link(UniqueFd(fds[1]), a, nullptr)};
}

// Runs `rank_body` on a thread per rank, and returns each thread's exception text.
std::vector<std::string> on_ranks(int world_size, const std::function<void(LinkCollectives&)>& rank_body) {
  std::vector<std::map<int, Link>> links(static_cast<std::size_t>(world_size));
  for (int a = 0; a < world_size; ++a) {
    for (int b = a + 1; b < world_size; ++b) {
      auto [end_of_a, end_of_b] = connect(a, b);
      links[a].emplace(b, std::move(end_of_a));
      links[b].emplace(a, std::move(end_of_b));
    }
  }
  std::vector<std::string> errors(static_cast<std::size_t>(world_size));
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        LinkCollectives group(
            rank, world_size, [&](int peer) -> Link& { return links[rank].at(peer); }, nullptr);
        rank_body(group);
      } catch (const Error& error) {
        errors[rank] = error.what();
      }
      links[rank].clear();  // like the end of its process
    });
  }
  ranks.clear();
  return errors;
}

}  // namespace

TEST_CASE("collectives between links add, copy and gather", "[exercise]") {
  for (const int world_size : {1, 2, 4}) {
    std::vector<std::vector<float>> sums(world_size), copies(world_size);
    std::vector<std::vector<std::int64_t>> tables(world_size);
    const auto errors = on_ranks(world_size, [&](LinkCollectives& group) {
      const auto rank = static_cast<float>(group.rank());
      std::vector<float> sum = {1, rank}, copy = {rank, rank};
      group.all_reduce(sum).synchronize();
      group.broadcast(copy, group.world_size() - 1).synchronize();
      const std::int64_t row[] = {group.rank(), 7};
      tables[group.rank()] = group.gather_rows(row);
      sums[group.rank()] = sum;
      copies[group.rank()] = copy;
    });
    std::vector<std::int64_t> table;
    for (int rank = 0; rank < world_size; ++rank) table.insert(table.end(), {rank, 7});
    const auto ranks = static_cast<float>(world_size);
    for (int rank = 0; rank < world_size; ++rank) {
      CHECK(errors[rank].empty());
      CHECK(sums[rank] == std::vector<float>{ranks, ranks * (ranks - 1) / 2});
      CHECK(copies[rank] == std::vector<float>{ranks - 1, ranks - 1});
      CHECK(tables[rank] == table);
    }
  }
}

TEST_CASE("the halves of an all-reduce between links move parts", "[exercise]") {
  for (const int world_size : {1, 2, 4}) {
    const auto ranks = static_cast<float>(world_size);
    const auto errors = on_ranks(world_size, [&](LinkCollectives& group) {
      const auto rank = static_cast<std::size_t>(group.rank());
      std::vector<float> all(2 * static_cast<std::size_t>(world_size)), own(2);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(rank + 10 * i);
      group.reduce_scatter(own, all, ReduceOp::kSum).synchronize();
      const float sum = ranks * (ranks - 1) / 2, first = 20 * static_cast<float>(rank) * ranks;
      require(own == std::vector<float>{first + sum, first + 10 * ranks + sum}, "wrong sums");
      const auto part = std::span(all).subspan(2 * rank, 2);  // of the buffer itself
      group.reduce_scatter(part, all, ReduceOp::kMean).synchronize();
      require(part[0] == (first + sum) / ranks && part[1] == (first + 10 * ranks + sum) / ranks, "wrong means");
      part[0] = -0.0F;
      group.all_gather(all, part).synchronize();
      for (std::size_t i = 0; i < all.size(); i += 2) {
        require(std::signbit(all[i]) && all[i + 1] == 10 * static_cast<float>(i + 1) + (ranks - 1) / 2, "wrong parts");
      }
      double tiny[] = {1, 0x1p-50 * static_cast<double>(rank)};
      group.all_reduce(tiny).synchronize();
      require(tiny[0] == world_size && tiny[1] == 0x1p-50 * static_cast<double>(sum), "wrong sums of doubles");
    });
    for (const std::string& error : errors) CHECK(error.empty());
  }
  const auto errors = on_ranks(2, [&](LinkCollectives& group) {
    std::vector<float> all(4), own(2);
    group.reduce_scatter(own, all, group.rank() == 0 ? ReduceOp::kMean : ReduceOp::kSum).synchronize();
  });
  CHECK_THAT(errors[0], ContainsSubstring("is reduce_scatter of 4 values with kMean on rank 0 and reduce_scatter of 4 "
                                          "values on rank 1"));
  const auto misfits = on_ranks(2, [&](LinkCollectives& group) {
    std::vector<float> all(5), own(2);
    group.all_gather(all, own).synchronize();
  });
  CHECK_THAT(misfits[0], ContainsSubstring("all_gather: one of 2 equal parts of 5 elements does not have 2"));
}

TEST_CASE("the values of a collective leave when it is issued, and the sum comes when it is waited for", "[exercise]") {
  std::vector<std::vector<float>> before(2), after(2);
  std::vector<std::vector<CollectiveEvent>> events(2);
  const auto errors = on_ranks(2, [&](LinkCollectives& group) {
    std::vector<float> first = {1}, second = {10, 10};
    Work first_work = group.all_reduce(first), second_work = group.all_reduce(second);
    first[0] = 99;
    before[group.rank()] = {first[0], second[0]};
    // They run in the order of issue, whichever is waited for first.
    (group.rank() == 0 ? first_work : second_work).synchronize();
    (group.rank() == 0 ? second_work : first_work).synchronize();
    second_work.synchronize();
    after[group.rank()] = {first[0], second[0]};
    events[group.rank()] = group.events();
    CHECK(group.issued("all_reduce") == std::vector<std::int64_t>{1, 2});
  });
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(errors[rank].empty());
    CHECK(before[rank] == std::vector<float>{99, 10});
    CHECK(after[rank] == std::vector<float>{2, 20});
    REQUIRE(events[rank].size() == 4);
    CHECK(events[rank][1].kind == Kind::kIssued);
    CHECK(events[rank][2].kind == Kind::kSynchronized);
    CHECK(events[rank][2].count == (rank == 0 ? 1 : 2));
  }
}

TEST_CASE("ranks that issue different collectives are told so, all of them", "[exercise]") {
  const auto errors = on_ranks(3, [](LinkCollectives& group) {
    std::vector<float> values(group.rank() == 2 ? 5 : 3);
    group.all_reduce(values).synchronize();
  });
  for (const std::string& error : errors)
    CHECK(error ==
          "collective number 1 is all_reduce of 3 values on rank 0 and all_reduce of 5 values on rank 2: all "
          "ranks must issue the same ones in the same order");
}

TEST_CASE("a peer that closes with bytes left to read has closed the connection", "[exercise]") {
  auto [own, peer] = connect(0, 1);
  float value = 1;
  own.send(std::span<const float>(&value, 1));
  peer.close();
  CHECK_THROWS_WITH(own.receive(std::span(&value, 1)),
                    "receiving from rank 1: it has closed the connection without reading all that it was sent");
}

TEST_CASE("a rank that leaves does not keep the others waiting", "[exercise]") {
  for (const int leaver : {0, 1}) {
    const auto errors = on_ranks(2, [&](LinkCollectives& group) {
      std::vector<float> values(3);
      if (group.rank() != leaver) group.all_reduce(values).synchronize();
    });
    CHECK(errors[leaver].empty());
    CHECK_THAT(errors[1 - leaver], ContainsSubstring("all_reduce of 3 values, collective number 1: ") &&
                                       ContainsSubstring("has closed the connection"));
  }
}

}  // namespace lockstep::exercise
