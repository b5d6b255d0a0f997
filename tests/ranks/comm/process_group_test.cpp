#include "comm/process_group.hpp"

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "comm/control/control_plane.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/line_process_group.hpp"
#include "comm/objects.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/stay_away.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::host_buffer;
using comm::JobContext;
using test::LineProcessGroup;
using test::run_ranks;
using test::run_ranks_for;
using test::stay_away;

namespace {

// Rank r contributes 8^r: written in base 8, the sum says how often each rank was counted.
std::int64_t contribution(int rank) { return std::int64_t{1} << (3 * rank); }

std::vector<std::int64_t> sum_once(LineProcessGroup& group, std::size_t count) {
  std::vector<std::int64_t> values(count, contribution(group.rank()));
  group.all_reduce(host_buffer(std::span(values))).synchronize();
  return values;
}

}  // namespace

TEST_CASE("a buffer over a vector is one over all of its elements", "[comm]") {
  std::vector<double> values(3);
  const comm::Buffer buffer = host_buffer(values);
  CHECK(buffer.data == values.data());
  CHECK(buffer.count == 3);
  CHECK(buffer.dtype == DType::kFloat64);
}

TEST_CASE("a queued collective runs on every rank and counts each rank once", "[comm][multirank]") {
  for (const int world_size : {1, 2, 3, 5}) {
    const auto results = run_ranks_for<std::vector<std::int64_t>>(world_size, [](JobContext context) {
      LineProcessGroup group(std::move(context));
      return sum_once(group, 17);
    });
    const std::int64_t expected = (contribution(world_size) - 1) / 7;  // 1 + 8 + 64 + ...
    for (const auto& values : results) CHECK(values == std::vector<std::int64_t>(17, expected));
  }
}

TEST_CASE("a call whose limit passes in the queue says so", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    const auto store = context.store;
    LineProcessGroup group(std::move(context));
    std::vector<std::int64_t> first(1, 1), second(1, 1);
    if (group.rank() == 1) {
      (void)store->get("the limit has passed", Deadline::after(20s));
      group.all_reduce(host_buffer(std::span(first))).synchronize();
      return stay_away(group.context());
    }
    comm::Work work = group.all_reduce(host_buffer(std::span(first)));
    const auto limit = Deadline::after(100ms);
    comm::Work late = group.all_reduce(host_buffer(std::span(second)), comm::ReduceOp::kSum, {.deadline = limit});
    std::this_thread::sleep_until(limit.when());
    store->set("the limit has passed", "");
    work.synchronize();
    late.synchronize();
  });
  CHECK(outcomes[0].is<TimeoutError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("before its turn in the group's queue"));
}

TEST_CASE("collectives issued together complete in issue order, also when their handles are dropped",
          "[comm][multirank]") {
  const auto results = run_ranks_for<std::vector<std::int64_t>>(3, [](JobContext context) {
    LineProcessGroup group(std::move(context));
    std::vector<std::int64_t> values(8, 1);
    for (int i = 0; i < 3; ++i) group.all_reduce(host_buffer(std::span(values)));
    group.barrier().synchronize();
    return values;
  });
  for (const auto& values : results) CHECK(values == std::vector<std::int64_t>(8, 27));
}

TEST_CASE("synchronize at the head of an idle queue needs no second thread to make progress", "[comm]") {
  const auto results = run_ranks_for<std::vector<std::int64_t>>(2, [](JobContext context) {
    LineProcessGroup group(std::move(context));
    for (int i = 0; i < 200; ++i) group.barrier().synchronize();
    return sum_once(group, 1);
  });
  for (const auto& values : results) CHECK(values.front() == 1 + 8);
}

TEST_CASE("a call whose deadline has passed receives nothing more, even if it is there", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    LineProcessGroup group(std::move(context));
    std::vector<std::int64_t> values(8, contribution(group.rank()));
    comm::CollectiveOptions options;
    if (group.rank() == 0) {
      group.broadcast(host_buffer(std::span(values)), 0, options).synchronize();
      group.context().store->set("sent", "");
      return stay_away(group.context());
    }
    (void)group.context().store->get("sent", test::soon());
    options.deadline = Deadline::after(0s);
    group.broadcast(host_buffer(std::span(values)), 0, options).synchronize();
  });
  CHECK(outcomes[1].is<TimeoutError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("broadcast #0") && ContainsSubstring("not complete after"));
}

TEST_CASE("a Work keeps its memory alive until the collective is done, and no longer", "[comm]") {
  std::promise<void> checked;  // rank 1 comes after that, so that the collective cannot be done before
  const auto released = run_ranks_for<int>(2, [&checked](JobContext context) {
    LineProcessGroup group(std::move(context));
    if (group.rank() == 1) checked.get_future().wait();
    auto memory = std::make_shared<std::vector<std::int64_t>>(100, 1);
    const std::weak_ptr<void> watched = memory;
    comm::Buffer buffer = host_buffer(std::span(*memory));
    buffer.keep_alive = std::move(memory);
    comm::Work work = group.all_reduce(std::move(buffer));
    const bool is_kept_while_pending = group.rank() == 1 || !watched.expired();
    if (group.rank() == 0) checked.set_value();
    work.synchronize();
    return is_kept_while_pending && watched.expired() ? 1 : 0;
  });
  CHECK(released == std::vector<int>{1, 1});
}

TEST_CASE("what only this rank can have got wrong is refused before it is issued, and the group goes on", "[comm]") {
  const auto results = run_ranks_for<std::vector<std::int64_t>>(2, [](JobContext context) {
    LineProcessGroup group(std::move(context));
    int refused = 0;
    const auto expect_refusal = [&](auto call) {
      try {
        call();
      } catch (const ContractError&) {
        ++refused;
      } catch (const UnavailableError&) {  // a device that this build lacks
        ++refused;
      }
    };
    std::int64_t value = 1;
    expect_refusal([&] { group.broadcast(host_buffer(std::span(&value, 1)), 2); });
    expect_refusal([&] { group.broadcast(host_buffer(std::span(&value, 1)), -1); });
    expect_refusal([&] {
      comm::Buffer none;
      none.count = 3;
      group.all_reduce(none);
    });
    expect_refusal([&] {
      comm::Buffer elsewhere = host_buffer(std::span(&value, 1));
      elsewhere.device = {accelerator_type() == DeviceType::kCuda ? DeviceType::kEmulated : DeviceType::kCuda, 0};
      group.all_reduce(elsewhere);
    });
    if (refused != 4) throw Error("not refused");
    return sum_once(group, 1);
  });
  for (const auto& values : results) CHECK(values.front() == 1 + 8);
}

TEST_CASE("memory of a device that one rank lacks is refused before the call is numbered", "[comm]") {
  const auto results = run_ranks_for<std::vector<std::int64_t>>(2, [](JobContext context) {
    LineProcessGroup group(std::move(context));
    std::int64_t value = 1;
    comm::Buffer elsewhere = host_buffer(std::span(&value, 1));
    elsewhere.device = {accelerator_type() == DeviceType::kCuda ? DeviceType::kEmulated : DeviceType::kCuda, 0};
    bool is_refused = group.rank() == 1;  // which does not try
    try {
      if (group.rank() == 0) group.all_reduce(elsewhere);
    } catch (const Error&) {
      is_refused = true;
    }
    if (!is_refused) throw Error("not refused");
    return sum_once(group, 1);
  });
  for (const auto& values : results) CHECK(values.front() == 1 + 8);
}

TEST_CASE("between group_start and group_end whatever would wait is refused by name, and the group goes on",
          "[comm][multirank]") {
  const auto problems = run_ranks_for<std::string>(2, [](JobContext context) {
    LineProcessGroup group(std::move(context));
    std::vector<std::int64_t> values(3, contribution(group.rank()));
    std::string found;
    const auto refuses = [&](const std::string& name, auto call) {
      try {
        call();
        found += name + " is not refused; ";
      } catch (const ContractError& error) {
        const std::string text = error.what();
        const bool names_both = text.starts_with(name) && text.find("process_group_test.cpp:") != std::string::npos;
        if (!names_both) found += text + "; ";
      }
    };
    group.group_start();
    group.all_reduce(host_buffer(std::span(values)));
    refuses("group_start", [&] { group.group_start(); });
    refuses("split", [&] { (void)group.split(0); });
    refuses("monitored_barrier", [&] { group.monitored_barrier(1s); });
    refuses("require_agreement", [&] { group.require_agreement(); });
    refuses("broadcast_object", [&] { (void)comm::broadcast_object(group, 1, 0); });
    refuses("all_gather_object", [&] { (void)comm::all_gather_object(group, 1); });
    comm::Work work = group.all_reduce(host_buffer(std::span(values)));
    if (work.is_completed()) found += "a call is done before group_end; ";
    group.group_end();
    work.synchronize();
    if (values != std::vector<std::int64_t>(3, 2 * 9)) found += "the sum of the sum; ";
    const auto half = group.split(0);
    return found + (sum_once(dynamic_cast<LineProcessGroup&>(*half), 1).front() == 9 ? "" : "a call after it");
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("waiting for a call of an open group is refused, and drops the group", "[comm]") {
  const auto problems = run_ranks_for<std::string>(2, [](JobContext context) -> std::string {
    LineProcessGroup group(std::move(context));
    group.group_start();
    {
      std::vector<std::int64_t> gone_soon(1000);
      comm::Work work = group.all_reduce(host_buffer(std::span(gone_soon)));
      try {
        work.synchronize();
        return "synchronize() is not refused";
      } catch (const ContractError& error) {
        if (std::string(error.what()).find("all_reduce #0 cannot be waited for") == std::string::npos)
          return error.what();
      }
    }
    try {
      group.group_end();
      return "group_end() issues calls whose memory is gone";
    } catch (const ContractError&) {
    }
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("a split notes the ranks of each group in the flight record", "[comm][multirank]") {
  const test::TemporaryFolder folder;
  const auto groups = run_ranks_for<std::vector<std::vector<int>>>(4, [&](JobContext context) {
    const auto recorder = std::make_shared<comm::FlightRecorder>(folder.path().string(), context.rank, 4, 0);
    context.flight_recorder = recorder;
    LineProcessGroup group(std::move(context));
    const auto half = group.split(group.rank() / 2);
    half->barrier().synchronize();
    group.barrier().synchronize();
    const comm::FlightRecord record = recorder->record();
    std::vector<std::vector<int>> ranks;  // of the last two calls
    for (const auto& entry : {*std::prev(record.entries.end(), 2), record.entries.back()})
      ranks.push_back(record.ranks_of(entry.group));
    return ranks;
  });
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    CHECK(groups[rank] == std::vector{rank < 2 ? std::vector{0, 1} : std::vector{2, 3}, std::vector{0, 1, 2, 3}});
}

TEST_CASE("thousands of split groups leave no trace, neither here nor at the hub", "[comm][multirank]") {
  comm::JobLimits limits = test::test_limits();
  limits.liveness = 2s;  // a heartbeat every 400 ms
  const auto outcomes = run_ranks(
      2,
      [](JobContext context) {
        const auto control = context.control;
        LineProcessGroup group(std::move(context));
        for (int i = 0; i < 5000; ++i) {
          const auto alone = group.split(group.rank());
          for (int call = 0; call < 8; ++call) alone->barrier({.run_on = comm::RunOn::kCaller}).synchronize();
        }
        if (const auto failure = control->wait_for_failure(Deadline::after(1200ms))) throw Error(failure->message);
        group.monitored_barrier(10s);
        control->abort({comm::FailureKind::kTimeout, -1, "where are you"});
        if (const auto failure = control->wait_for_failure(Deadline::after(10s))) throw Error(failure->message);
      },
      limits);
  for (const auto& outcome : outcomes) {  // the groups that are left are the job's and nobody else's
    CHECK_THAT(outcome.message(), Catch::Matchers::StartsWith("where are you"));
    CHECK(outcome.message().find("of group") == std::string::npos);
    CHECK(outcome.message().size() < 300);
  }
}

TEST_CASE("where messages do not say what they belong to, ranks that disagree are named before a byte moves",
          "[comm][multirank]") {
  std::vector<std::vector<std::int64_t>> buffers(3, std::vector<std::int64_t>(5, 7));
  const auto outcomes = run_ranks(3, [&](JobContext context) {
    LineProcessGroup group(std::move(context), /*compares_messages=*/false);
    (void)sum_once(group, 4);
    const auto op = group.rank() == 2 ? comm::ReduceOp::kMax : comm::ReduceOp::kSum;
    group.all_reduce(host_buffer(std::span(buffers[static_cast<std::size_t>(group.rank())])), op).synchronize();
  });
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    CAPTURE(rank, outcomes[rank].message());
    CHECK(outcomes[rank].is<MismatchError>());
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 2 all_reduce #1 (max of 5 int64)"));
    CHECK(buffers[rank] == std::vector<std::int64_t>(5, 7));
  }
}

TEST_CASE("agreement on what was issued is waited for, and refused where ranks disagree", "[comm][multirank]") {
  for (const bool all_agree : {true, false}) {
    std::atomic<bool> has_issued = false, knew_too_early = false;
    const auto outcomes = run_ranks(2, [&](JobContext context) {
      std::vector<std::int64_t> values(all_agree ? 3
                                                 : static_cast<std::size_t>(3 + context.rank));  // outlive the group
      LineProcessGroup group(std::move(context), /*compares_messages=*/false);
      if (group.rank() == 1) std::this_thread::sleep_for(100ms);
      if (group.rank() == 1) has_issued = true;
      const comm::Work work = group.all_reduce(host_buffer(std::span(values)));
      group.require_agreement();
      knew_too_early = knew_too_early || !has_issued;
    });
    CHECK_FALSE(knew_too_early);
    for (const auto& outcome : outcomes) CHECK(outcome.is<MismatchError>() == !all_agree);
    for (const auto& outcome : outcomes) CHECK(outcome.ok() == all_agree);
  }
}
