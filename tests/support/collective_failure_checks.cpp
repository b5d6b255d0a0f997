// The part of collective_checks.hpp that is about what goes wrong.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/catch.hpp"
#include "support/collective_elements.hpp"
#include "support/every_collective_checks.hpp"

namespace lockstep::test {
namespace {

using Calls = std::function<void(ProcessGroup&)>;

// Rank 1 makes `odd` where the others make `usual`; a barrier follows, so that a rank that could finish its call alone
// learns of the disagreement too.
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
  std::string text;  // as messages describe it
  Calls calls;
};

// Each a first collective of 1000 elements per rank.
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
  // Two roots can both be done before anybody notices: then it is the barrier that fails.
  check_mismatch(make_group, broadcast_of(1000, 0), broadcast_of(1000, 1), "broadcast #0", "broadcast #0");
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

void check_deadline(const GroupFactory& make_group) {
  const auto outcomes = run_ranks(3, [&](JobContext context) {
    const auto group = make_group(std::move(context));
    if (group->rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));  // alive, but elsewhere
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
      // Of a gather or reduce a rank that is not its root may be done before the others object: it is in the barrier.
      const bool is_one_way = odd.text.starts_with("gather") || odd.text.starts_with("reduce #0");
      const bool names_odd = outcome.message().find(odd.text) != std::string::npos ||
                             (is_one_way && outcome.message().find("rank 1 barrier #1") != std::string::npos);
      CHECK(names_odd);
      CHECK_THAT(outcome.message(), ContainsSubstring("rank 1"));
    }
  }
}

}  // namespace lockstep::test
