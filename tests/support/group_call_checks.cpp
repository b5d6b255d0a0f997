// The part of every_collective_checks.hpp for ways of calling: in place, together, later, in part groups.
#include <nlohmann/json.hpp>
#include <sstream>

#include "comm/objects.hpp"
#include "support/collective_elements.hpp"
#include "support/every_collective_checks.hpp"

namespace lockstep::test {

void check_in_place(const GroupFactory& make_group) {
  check_on_all_ranks(make_group, 3, [](ProcessGroup& group) -> std::string {
    constexpr std::int64_t kCount = 5000;
    const int rank = group.rank();
    const auto part = [&](std::vector<float>& whole) {
      return comm::host_buffer(std::span(whole).subspan(static_cast<std::size_t>(rank * kCount), kCount));
    };
    const auto gathered = [](std::int64_t i) { return moved_value(static_cast<int>(i / kCount), i % kCount); };
    const auto own_part = [&](std::int64_t i) { return i / kCount == rank ? gathered(i) : kUntouched; };
    Findings findings(group);

    std::vector<float> values = filled<float>(3 * kCount, own_part);
    group.all_gather(buffer_of(values), part(values)).synchronize();
    findings.add(difference(values, gathered), "all_gather");

    values = filled<float>(3 * kCount, own_part);
    group.gather(buffer_of(values), part(values), 1).synchronize();
    if (rank == 1) findings.add(difference(values, gathered), "gather");

    const auto own = [&](std::int64_t i) { return contribution(rank, i, 3, DType::kFloat32, ReduceOp::kSum); };
    values = filled<float>(3 * kCount, own);
    group.reduce_scatter(part(values), buffer_of(values)).synchronize();
    const auto sums = [&](std::int64_t i) {
      return i / kCount == rank ? expected(i, 3, DType::kFloat32, ReduceOp::kSum) : own(i);
    };
    findings.add(difference(values, sums), "reduce_scatter");

    values = filled<float>(3 * kCount, [&](std::int64_t i) { return rank == 2 ? gathered(i) : kUntouched; });
    group.scatter(part(values), buffer_of(values), 2).synchronize();
    const auto scattered = [&](std::int64_t i) { return rank == 2 || i / kCount == rank ? gathered(i) : kUntouched; };
    findings.add(difference(values, scattered), "scatter");
    return findings.first();
  });
}

void check_grouped_calls(const GroupFactory& make_group) {
  check_on_all_ranks(make_group, 4, [](ProcessGroup& group) -> std::string {
    constexpr std::int64_t kCount = 600000;  // more than the system's buffers: mutually waiting sends would hang
    const int rank = group.rank();
    std::vector<float> own = filled<float>(kCount, [&](std::int64_t i) { return moved_value(rank, i); });
    std::vector<std::vector<float>> received(4, std::vector<float>(kCount));
    std::vector<std::int64_t> counter{1};
    group.group_start();
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == rank) continue;
      group.send(buffer_of(own), peer);
      group.recv(buffer_of(received[static_cast<std::size_t>(peer)]), peer);
    }
    group.all_reduce(buffer_of(counter));
    group.all_reduce(buffer_of(counter));
    group.group_end().synchronize();

    Findings findings(group);
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == rank) continue;
      findings.add(
          difference(received[static_cast<std::size_t>(peer)], [&](std::int64_t i) { return moved_value(peer, i); }),
          "from rank ", peer);
    }
    findings.add(counter[0] == 16 ? "" : "the sum of sums", "all_reduce");
    return findings.first();
  });
}

void check_coalesced(const GroupFactory& make_group) {
  check_on_all_ranks(make_group, 3, [](ProcessGroup& group) -> std::string {
    const std::vector<std::int64_t> counts{0, 1, 70000, 3, 0, 1000};
    std::vector<std::vector<float>> values;
    std::vector<Buffer> buffers;
    for (const std::int64_t count : counts) {
      values.push_back(filled<float>(count, [&](std::int64_t i) {
        return contribution(group.rank(), i + count, 3, DType::kFloat32, ReduceOp::kMean);
      }));
    }
    for (auto& part : values) buffers.push_back(buffer_of(part));
    const std::uint64_t messages_before = group.traffic_sent().messages;
    group.all_reduce_coalesced(buffers, ReduceOp::kMean).synchronize();
    const std::uint64_t messages = group.traffic_sent().messages - messages_before;

    std::vector<float> as_one(71004);  // the sum of the counts
    const std::uint64_t messages_of_one_before = group.traffic_sent().messages;
    group.all_reduce(buffer_of(as_one)).synchronize();
    const std::uint64_t messages_of_one = group.traffic_sent().messages - messages_of_one_before;
    Findings findings(group);
    findings.add(messages == messages_of_one ? "" : "the number of messages", "all_reduce_coalesced");
    for (std::size_t part = 0; part < values.size(); ++part) {
      findings.add(
          difference(values[part],
                     [&](std::int64_t i) { return expected(i + counts[part], 3, DType::kFloat32, ReduceOp::kMean); }),
          "buffer ", part);
    }
    return findings.first();
  });
}

void check_deferred(const GroupFactory& make_group) {
  check_on_all_ranks(make_group, 3, [](ProcessGroup& group) -> std::string {
    const comm::CollectiveOptions deferred{.run_on = comm::RunOn::kCaller};
    std::vector<std::int64_t> values{1};
    for (int i = 0; i < 3; ++i) group.all_reduce(buffer_of(values), ReduceOp::kSum, deferred).synchronize();
    if (values[0] != 27) return "three in a row";
    group.all_reduce(buffer_of(values), ReduceOp::kSum, deferred);  // dropped: runs with the next call
    group.all_reduce(buffer_of(values)).synchronize();
    if (values[0] != 27 * 9) return "a dropped one";
    comm::Work first = group.all_reduce(buffer_of(values), ReduceOp::kSum, deferred);
    comm::Work second = group.all_reduce(buffer_of(values), ReduceOp::kSum, deferred);
    second.synchronize();
    first.synchronize();
    if (values[0] != 27 * 81) return "two at once";
    return "";
  });
  // Dropped, and no call follows: the group's destructor runs it.
  std::vector<std::int64_t> sums(3);
  const auto outcomes = run_ranks(3, [&](JobContext context) {
    std::int64_t& sum = sums[static_cast<std::size_t>(context.rank)];
    sum = context.rank;
    const auto group = make_group(std::move(context));
    group->all_reduce(comm::host_buffer(std::span(&sum, 1)), ReduceOp::kSum, {.run_on = comm::RunOn::kCaller});
  });
  for (const RankOutcome& outcome : outcomes) CHECK(outcome.message() == "");
  CHECK(sums == std::vector<std::int64_t>{3, 3, 3});
}

void check_split(const GroupFactory& make_group) {
  check_on_all_ranks(make_group, 5, [](ProcessGroup& group) -> std::string {
    const int rank = group.rank();
    Findings findings(group);
    const auto sum_over = [](ProcessGroup& of, std::int64_t value) {
      std::vector<std::int64_t> values(20000, value);
      of.all_reduce(buffer_of(values)).synchronize();
      return values.back();
    };
    // Even ranks 0, 2, 4 and odd ranks 1, 3, each in reversed order.
    const auto half = group.split(rank % 2, -rank);
    const int expected_rank = rank % 2 == 0 ? 2 - rank / 2 : 1 - rank / 2;
    findings.add(half->rank() == expected_rank ? "" : "its rank", "the half");
    findings.add(half->world_size() == (rank % 2 == 0 ? 3 : 2) ? "" : "its size", "the half");
    findings.add(sum_over(*half, rank) == (rank % 2 == 0 ? 6 : 4) ? "" : "its sum", "the half");
    findings.add(sum_over(group, 1) == 5 ? "" : "the sum of all", "between");
    std::vector<std::int64_t> first{half->rank() == 0 ? rank : -1};
    half->broadcast(buffer_of(first), 0).synchronize();
    findings.add(first[0] == (rank % 2 == 0 ? 4 : 3) ? "" : "the broadcast", "the half");

    // Only ranks 1 to 4 continue, in two groups of neighbours; then each of them alone.
    const auto pair = group.split(rank == 0 ? ProcessGroup::kNoColor : (rank - 1) / 2);
    if (rank == 0) {
      findings.add(pair == nullptr ? "" : "a group for a rank that joins none", "no color");
    } else {
      findings.add(sum_over(*pair, rank) == (rank <= 2 ? 3 : 7) ? "" : "its sum", "the pair");
      const auto alone = pair->split(pair->rank());
      findings.add(sum_over(*alone, rank) == rank ? "" : "its sum", "alone");
    }
    group.barrier().synchronize();
    return findings.first();
  });
}

void check_nested_splits(const GroupFactory& make_group) {
  const auto sums_seen = run_ranks_for<std::string>(4, [&](JobContext context) {
    const int rank = context.rank;
    const auto sum_over = [rank](ProcessGroup& of) {
      std::vector<std::int64_t> values(3, std::int64_t{1} << (3 * rank));  // one digit in base 8 per rank
      of.all_reduce(buffer_of(values)).synchronize();
      std::ostringstream digits;
      digits << std::oct << values.back();
      return digits.str();
    };
    const auto group = make_group(context);
    // Two separate groups split at the same time, unaware of each other's numbers.
    const auto pair = group->split(rank / 2);
    const auto again = pair->split(0);
    std::string sums = concat(sum_over(*pair), " ", sum_over(*again));
    // Ranks 0 and 1 have made more groups than ranks 2 and 3 when all ranks make one more.
    const auto more = rank < 2 ? again->split(0) : nullptr;
    const auto all = make_group(context);
    const auto swapped = all->split(rank % 2);
    sums += concat(" ", sum_over(*all), " ", sum_over(*swapped), " ", sum_over(*again), " ", sum_over(*group));
    all->barrier().synchronize();
    return sums;
  });
  for (int rank = 0; rank < 4; ++rank) {
    const std::string pair = rank < 2 ? "11" : "1100", swapped = rank % 2 == 0 ? "101" : "1010";
    CHECK(sums_seen[static_cast<std::size_t>(rank)] == concat(pair, " ", pair, " 1111 ", swapped, " ", pair, " 1111"));
  }
}

void check_objects(const GroupFactory& make_group) {
  const auto object_of = [](int rank) {
    return nlohmann::json{{"rank", rank}, {"host", std::string(static_cast<std::size_t>(rank * 1000), 'x')}};
  };
  for (const int world_size : {1, 3}) {
    check_on_all_ranks(make_group, world_size, [&](ProcessGroup& group) -> std::string {
      for (int root = 0; root < world_size; ++root) {
        if (comm::broadcast_object(group, object_of(group.rank()), root) != object_of(root)) return "broadcast_object";
        // Not UTF-8, with a zero byte, and of a different length on each rank.
        const std::string text = "\xff" + std::string(static_cast<std::size_t>(root), '\0') + "\n";
        const std::string own = group.rank() == root ? text : std::string("ignored");
        if (comm::broadcast_text(group, own, root) != text) return "broadcast_text";
      }
      const std::vector<nlohmann::json> all = comm::all_gather_object(group, object_of(group.rank()));
      for (int rank = 0; rank < world_size; ++rank) {
        if (all.at(static_cast<std::size_t>(rank)) != object_of(rank)) return "all_gather_object";
      }
      if (!comm::broadcast_text(group, group.rank() == 0 ? "" : "ignored", 0).empty()) return "an empty text";
      return comm::all_gather_object(group, nlohmann::json()).back().is_null() ? "" : "a null object";
    });
  }
  // Too long: refused before any data is sent, so the group stays usable.
  check_on_all_ranks(make_group, 2, [&](ProcessGroup& group) -> std::string {
    const nlohmann::json too_long = std::string(static_cast<std::size_t>(comm::kMaxObjectBytes), 'x');
    try {
      (void)comm::all_gather_object(group, too_long);
      return "a long object was sent";
    } catch (const ContractError& error) {
      if (std::string(error.what()).find("Send large data as a buffer") == std::string::npos) return error.what();
    }
    return comm::broadcast_object(group, 1, 0) == 1 ? "" : "the call after it";
  });
}

}  // namespace lockstep::test
