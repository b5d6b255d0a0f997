// The part of collective_checks.hpp for failures.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "comm/control/control_plane.hpp"
#include "support/catch.hpp"
#include "support/collective_elements.hpp"
#include "support/every_collective_checks.hpp"
#include "support/soon.hpp"

namespace lockstep::test {
namespace {

using Calls = std::function<void(ProcessGroup&)>;

// Rank 1 makes the calls `odd`, the others `usual`; a barrier follows, so that a rank that could finish its call alone
// also learns of the disagreement.
void check_mismatch(const GroupFactory& make_group, const Calls& usual, const Calls& odd, const std::string& usual_text,
                    const std::string& odd_text) {
  for (const int world_size : {2, 4}) {
    const auto outcomes = run_ranks(world_size, [&](JobContext context) {
      const auto group = make_group(std::move(context));
      group->rank() == 1 ? odd(*group) : usual(*group);
      group->barrier().synchronize();
    });
    for (const RankOutcome& outcome : outcomes) {
      CAPTURE(world_size, outcome.message());
      CHECK(outcome.is<MismatchError>());
      CHECK_THAT(outcome.message(), ContainsSubstring("rank 1") && ContainsSubstring(odd_text));
      CHECK_THAT(outcome.message(), ContainsSubstring(usual_text));
    }
  }
}

template <typename T>
Calls all_reduce_of(std::size_t count, ReduceOp op) {
  return [count, op](ProcessGroup& group) {
    std::vector<T> values(count);
    group.all_reduce(comm::host_buffer(std::span(values)), op).synchronize();
  };
}

Calls broadcast_of(std::size_t count, int root) {
  return [count, root](ProcessGroup& group) {
    std::vector<float> values(count);
    group.broadcast(comm::host_buffer(std::span(values)), root).synchronize();
  };
}

struct NamedCalls {
  std::string text;  // as in messages
  Calls calls;
};

// First collectives of 1000 elements per rank.
std::vector<NamedCalls> first_calls() {
  const auto with_both = [](auto call, bool output_is_longer, bool input_is_longer) {
    return [=](ProcessGroup& group) {
      const auto longer = static_cast<std::size_t>(1000 * group.world_size());
      std::vector<float> output(output_is_longer ? longer : 1000);
      std::vector<float> input(input_is_longer ? longer : 1000);
      call(group, buffer_of(output), buffer_of(input)).synchronize();
    };
  };
  return {
      {"all_gather #0 (1000 float32 from each rank)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer& in) { return g.all_gather(out, in); }, true,
                 false)},
      {"reduce_scatter #0 (sum of 1000 float32)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer& in) { return g.reduce_scatter(out, in); }, false,
                 true)},
      {"gather #0 (1000 float32 to rank 0)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer& in) { return g.gather(out, in, 0); }, true,
                 false)},
      {"scatter #0 (1000 float32 from rank 0)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer& in) { return g.scatter(out, in, 0); }, false,
                 true)},
      {"all_to_all #0 (1000 float32 from each rank)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer& in) { return g.all_to_all(out, in); }, true,
                 true)},
      {"reduce #0 (sum of 1000 float32 to rank 0)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer&) { return g.reduce(out, 0); }, false, false)},
      {"reduce #0 (sum of 1000 float32 to rank 1)",
       with_both([](ProcessGroup& g, const Buffer& out, const Buffer&) { return g.reduce(out, 1); }, false, false)},
      {"barrier #0", [](ProcessGroup& group) { group.barrier().synchronize(); }},
  };
}

}  // namespace

void check_mismatches(const GroupFactory& make_group) {
  const Calls usual = all_reduce_of<float>(1000, ReduceOp::kSum);
  const std::string text = "all_reduce #0 (sum of 1000 float32)";
  check_mismatch(make_group, usual, all_reduce_of<float>(1001, ReduceOp::kSum), text, "(sum of 1001 float32)");
  check_mismatch(make_group, usual, all_reduce_of<float>(0, ReduceOp::kSum), text, "(sum of 0 float32)");
  check_mismatch(make_group, usual, all_reduce_of<float>(200000, ReduceOp::kSum), text, "(sum of 200000 float32)");
  check_mismatch(make_group, usual, all_reduce_of<float>(1000, ReduceOp::kMax), text, "(max of 1000 float32)");
  check_mismatch(make_group, usual, all_reduce_of<std::int32_t>(1000, ReduceOp::kSum), text, "(sum of 1000 int32)");
  check_mismatch(make_group, usual, broadcast_of(1000, 0), text, "broadcast #0 (1000 float32 from rank 0)");
  // Two roots may both be done before the disagreement is noticed: then the barrier fails.
  check_mismatch(make_group, broadcast_of(1000, 0), broadcast_of(1000, 1), "broadcast #0", "broadcast #0");
}

namespace {

// Each collective once, with `count` elements per rank and that tag.
std::vector<std::function<comm::Work(ProcessGroup&, std::string_view)>> tagged_calls() {
  const auto with_both = [](auto call) {
    return [call](ProcessGroup& group, std::string_view tag) {
      constexpr std::size_t kCount = 16;
      const auto all = std::make_shared<std::vector<float>>(kCount * static_cast<std::size_t>(group.world_size()));
      const auto own = std::make_shared<std::vector<float>>(kCount);
      Buffer of_all = buffer_of(*all), of_own = buffer_of(*own);
      of_all.keep_alive = all;
      of_own.keep_alive = own;
      return call(group, of_all, of_own, comm::CollectiveOptions{.tag = tag});
    };
  };
  using Options = comm::CollectiveOptions;
  return {
      with_both([](ProcessGroup& g, const Buffer&, const Buffer& own, const Options& o) {
        return g.all_reduce(own, ReduceOp::kSum, o);
      }),
      with_both(
          [](ProcessGroup& g, const Buffer&, const Buffer& own, const Options& o) { return g.broadcast(own, 1, o); }),
      with_both([](ProcessGroup& g, const Buffer& all, const Buffer& own, const Options& o) {
        return g.all_gather(all, own, o);
      }),
      with_both([](ProcessGroup& g, const Buffer& all, const Buffer& own, const Options& o) {
        return g.reduce_scatter(own, all, ReduceOp::kSum, o);
      }),
      with_both([](ProcessGroup& g, const Buffer&, const Buffer&, const Options& o) { return g.barrier(o); }),
      with_both([](ProcessGroup& g, const Buffer&, const Buffer& own, const Options& o) {
        return g.rank() == 0 ? g.send(own, 1, o) : g.recv(own, 0, o);
      }),
  };
}

}  // namespace

void check_tags(const GroupFactory& make_group) {
  const auto calls = tagged_calls();
  for (const RankOutcome& outcome : run_ranks(2, [&](JobContext context) {
         const auto group = make_group(std::move(context));
         for (const auto& call : calls) call(*group, "unit h.2").synchronize();
         for (const auto& call : calls) call(*group, "").synchronize();
       })) {
    CHECK(outcome.message() == "");
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const std::string_view odd : {"unit h.3", ""}) {
      const auto outcomes = run_ranks(2, [&](JobContext context) {
        const auto group = make_group(std::move(context));
        calls[i](*group, group->rank() == 1 ? odd : "unit h.2").synchronize();
        group->barrier().synchronize();
      });
      for (const RankOutcome& outcome : outcomes) {
        CAPTURE(i, odd, outcome.message());
        CHECK(outcome.is<MismatchError>());
        // A rank that has sent and moved on can no longer be asked for its tag's text.
        CHECK_THAT(outcome.message(), ContainsSubstring("#0 (unit h.2") || ContainsSubstring("send #0 (a tag of hash"));
        CHECK_THAT(outcome.message(), ContainsSubstring(std::string(odd)));
      }
    }
  }
}

void check_irreducible(const GroupFactory& make_group) {
  const auto refuses = [](const std::function<comm::Work()>& call, const std::string& name) {
    try {
      (void)call();
    } catch (const ContractError& error) {
      return std::string(error.what()).starts_with(name + ": ");
    }
    return false;
  };
  const auto outcomes = run_ranks(2, [&](JobContext context) {
    const auto group = make_group(std::move(context));
    const auto check = [&](auto element, const std::string& name) {
      std::vector<decltype(element)> own(4), all(8);
      const std::vector<Buffer> both{buffer_of(own), buffer_of(all)};
      const bool is_refused =
          refuses([&] { return group->all_reduce(buffer_of(own)); }, "all_reduce") &&
          refuses([&] { return group->all_reduce_coalesced(both); }, "all_reduce") &&
          refuses([&] { return group->reduce(buffer_of(own), 0, ReduceOp::kMax); }, "reduce") &&
          refuses([&] { return group->reduce_scatter(buffer_of(own), buffer_of(all)); }, "reduce_scatter");
      if (!is_refused) throw Error(name + " was not refused at once");
      group->broadcast(buffer_of(own), 0).synchronize();  // bytes may be copied
    };
    check(std::uint8_t{}, "uint8");
    check(Float16{}, "float16");
    std::vector<float> values(4, 1.0F);
    group->all_reduce(buffer_of(values)).synchronize();
    if (values.back() != 2) throw Error("the group reduces wrongly");
  });
  for (const RankOutcome& outcome : outcomes) CHECK(outcome.message() == "");
}

void check_death(const GroupFactory& make_group) {
  for (const int world_size : {2, 4}) {
    for (const int culprit : {0, 1}) {
      const auto outcomes = run_ranks(world_size, [&](JobContext context) {
        const auto group = make_group(std::move(context));
        std::vector<float> values(5000, 1.0F);
        for (int round = 0; round < 20; ++round) {
          if (group->rank() == culprit && round == 3) throw std::runtime_error("out of luck");
          group->all_reduce(comm::host_buffer(std::span(values))).synchronize();
        }
      });
      for (int rank = 0; rank < world_size; ++rank) {
        const RankOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
        CAPTURE(world_size, culprit, rank, outcome.message());
        if (rank == culprit) {
          CHECK(outcome.message() == "out of luck");
          continue;
        }
        CHECK(outcome.is<PeerFailedError>());
        CHECK_THAT(outcome.message(), ContainsSubstring(concat("rank ", culprit)));
      }
    }
  }
}

void check_rank_0_leaves(const GroupFactory& make_group, bool names_peer) {
  using std::chrono::milliseconds;
  std::atomic<bool> has_left = false;
  const auto sum_over = [](ProcessGroup& group) {
    std::vector<float> values(5000, 1.0F);
    group.all_reduce(buffer_of(values)).synchronize();
    return values.back();
  };
  // Ranks 1 to 3 continue in their own group. Then ranks 1 and 2 wait for ranks that have left: 1 for rank 0 in the
  // group of all; 2 for rank 1, which has that error, or for rank 3, which ends normally.
  std::vector<float> sums(4);
  const auto outcomes = run_ranks(4, [&](JobContext context) {
    const int rank = context.rank;
    {
      const auto all = make_group(std::move(context));
      const auto rest = all->split(rank == 0 ? ProcessGroup::kNoColor : 0);
      all->barrier().synchronize();
      for (const auto limit = Deadline::after(milliseconds(10'000)); rank != 0 && !has_left;) {
        if (limit.has_expired()) throw TimeoutError("rank 0 did not leave");
        std::this_thread::sleep_for(milliseconds(5));
      }
      if (rank != 0) sums[static_cast<std::size_t>(rank)] = sum_over(*rest);
      if (rank == 1) sum_over(*all);
      if (rank == 2) sum_over(*rest);
    }
    has_left = true;
  });
  CHECK(sums == std::vector<float>{0, 3, 3, 3});
  for (const int rank : {0, 3}) CHECK(outcomes[static_cast<std::size_t>(rank)].message() == "");
  CHECK(outcomes[1].is<PeerFailedError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("rank 0 has left without entering all_reduce #2"));
  // No control plane is left to judge: the error comes from the connection or shared memory, and is not a timeout.
  CHECK_FALSE(outcomes[2].is<TimeoutError>());
  CHECK_THAT(outcomes[2].message(), Catch::Matchers::StartsWith("rank 2: all_reduce #1: "));
  if (names_peer) CHECK_THAT(outcomes[2].message(), ContainsSubstring("rank 1") || ContainsSubstring("rank 3"));
}

void check_deadline(const GroupFactory& make_group) {
  const auto outcomes = run_ranks(3, [&](JobContext context) {
    const auto control = context.control;
    const auto group = make_group(std::move(context));
    if (group->rank() == 2) {  // alive, but busy elsewhere until the others have given up
      (void)control->wait_for_failure(soon());
      return;
    }
    std::vector<float> values(10, 1.0F);
    const comm::CollectiveOptions options{.deadline = Deadline::after(std::chrono::milliseconds(200))};
    group->all_reduce(comm::host_buffer(std::span(values)), ReduceOp::kSum, options).synchronize();
  });
  for (const int rank : {0, 1}) {
    CAPTURE(rank, outcomes[static_cast<std::size_t>(rank)].message());
    CHECK(outcomes[static_cast<std::size_t>(rank)].is<TimeoutError>());
  }
}

void check_mismatches_of_every_collective(const GroupFactory& make_group) {
  const std::vector<NamedCalls> calls = first_calls();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const NamedCalls& usual = calls[i];
    const NamedCalls& odd = calls[(i + 1) % calls.size()];
    const auto outcomes = run_ranks(3, [&](JobContext context) {
      const auto group = make_group(std::move(context));
      (group->rank() == 1 ? odd : usual).calls(*group);
      group->barrier().synchronize();
    });
    for (const RankOutcome& outcome : outcomes) {
      CAPTURE(usual.text, odd.text, outcome.message());
      CHECK(outcome.is<MismatchError>());
      // In a gather or reduce, a rank other than the root may already be in the barrier when the others object.
      const bool is_one_way = odd.text.starts_with("gather") || odd.text.starts_with("reduce #0");
      const bool names_odd = outcome.message().find(odd.text) != std::string::npos ||
                             (is_one_way && outcome.message().find("rank 1 barrier #1") != std::string::npos);
      CHECK(names_odd);
      CHECK_THAT(outcome.message(), ContainsSubstring("rank 1"));
    }
  }
}

}  // namespace lockstep::test
