#include "exercise/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

constexpr int kHub = 0;                          // the rank that all data passes through
constexpr std::size_t kLongestComplaint = 4096;  // bytes

enum class Operation : std::int64_t {
  kAllReduce,
  kAllReduceOfDoubles,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kGatherRows
};

const char* name_of(Operation operation) {
  constexpr std::array<const char*, 6> kNames = {"all_reduce", "all_reduce", "reduce_scatter",
                                                 "all_gather", "broadcast",  "gather_rows"};
  return kNames.at(static_cast<std::size_t>(operation));
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Ranks must agree on this before any data moves.
struct Header {
  Operation operation;
  std::int64_t count;
  std::int64_t root = 0;  // of a broadcast
  ReduceOp op = ReduceOp::kSum;

  bool operator==(const Header&) const = default;
};

std::string describe(const Header& header) {
  const char* const unit = header.operation == Operation::kAllReduceOfDoubles ? "double" : "value";
  const std::string text =
      concat(name_of(header.operation), " of ", header.count, " ", unit, header.count == 1 ? "" : "s");
  if (header.operation == Operation::kBroadcast) return concat(text, " from rank ", header.root);
  return header.op == ReduceOp::kMean ? concat(text, " with kMean") : text;
}

}  // namespace

Work::Work(std::function<void(const std::source_location&)> wait)
    : wait_(std::make_shared<std::function<void(const std::source_location&)>>(std::move(wait))) {}

void Work::synchronize(const std::source_location& where) {
  if (wait_ && *wait_) std::exchange(*wait_, nullptr)(where);
}

// One collective: its operation, its values when it was issued, and the destination of the result.
struct LinkCollectives::Issued {
  Header header;
  std::vector<float> values = {};
  std::vector<std::int64_t> table = {};  // for gather_rows and doubles: all rows, with this rank's in place
  std::span<float> result = {};
  std::span<double> double_result = {};
};

LinkCollectives::LinkCollectives(int rank, int world_size, std::function<Link&(int peer)> link, RankProgress* progress)
    : rank_(rank), world_size_(world_size), link_(std::move(link)), progress_(progress) {}

LinkCollectives::~LinkCollectives() = default;

Work LinkCollectives::issue(Issued issued) {
  events_.push_back({CollectiveEvent::Kind::kIssued, name_of(issued.header.operation), issued.header.count});
  issued_.push_back(std::move(issued));
  return Work([this, number = issued_.size() - 1](const std::source_location& where) {
    const Header& header = issued_[number].header;
    events_.push_back({CollectiveEvent::Kind::kSynchronized, name_of(header.operation), header.count});
    complete(number, where);
  });
}

Work LinkCollectives::all_reduce(std::span<float> values) {
  return issue({.header = {Operation::kAllReduce, static_cast<std::int64_t>(values.size())},
                .values = {values.begin(), values.end()},
                .result = values});
}

// The bits of all ranks' values are gathered as rows, and every rank adds them up in the order of the ranks.
Work LinkCollectives::all_reduce(std::span<double> values) {
  Issued issued{.header = {Operation::kAllReduceOfDoubles, static_cast<std::int64_t>(values.size())},
                .double_result = values};
  issued.table.resize(values.size() * static_cast<std::size_t>(world_size_));
  std::ranges::transform(values, issued.table.begin() + static_cast<std::ptrdiff_t>(values.size()) * rank_,
                         [](double value) { return std::bit_cast<std::int64_t>(value); });
  return issue(std::move(issued));
}

Work LinkCollectives::reduce_scatter(std::span<float> own, std::span<const float> all, ReduceOp op) {
  require_parts("reduce_scatter", own.size(), all.size());
  return issue({.header = {Operation::kReduceScatter, static_cast<std::int64_t>(all.size()), 0, op},
                .values = {all.begin(), all.end()},
                .result = own});
}

Work LinkCollectives::all_gather(std::span<float> all, std::span<const float> own) {
  require_parts("all_gather", own.size(), all.size());
  Issued issued{.header = {Operation::kAllGather, static_cast<std::int64_t>(all.size())}, .result = all};
  issued.values.resize(all.size());
  std::ranges::copy(own, issued.values.begin() + static_cast<std::ptrdiff_t>(own.size()) * rank_);
  return issue(std::move(issued));
}

void LinkCollectives::require_parts(const char* operation, std::size_t own, std::size_t all) const {
  require(own * static_cast<std::size_t>(world_size_) == all, operation, ": one of ", world_size_, " equal parts of ",
          all, " elements does not have ", own);
}

Work LinkCollectives::broadcast(std::span<float> values, int root) {
  require(root >= 0 && root < world_size_, "broadcast: there is no rank ", root, " among ", world_size_);
  return issue({.header = {Operation::kBroadcast, static_cast<std::int64_t>(values.size()), root},
                .values = {values.begin(), values.end()},
                .result = values});
}

std::vector<std::int64_t> LinkCollectives::gather_rows(std::span<const std::int64_t> row,
                                                       const std::source_location& where) {
  Issued rows{.header = {Operation::kGatherRows, static_cast<std::int64_t>(row.size())}};
  rows.table.resize(row.size() * static_cast<std::size_t>(world_size_));
  std::ranges::copy(row, rows.table.begin() + static_cast<std::ptrdiff_t>(row.size()) * rank_);
  const std::size_t number = issued_.size();
  issue(std::move(rows)).synchronize(where);
  return std::move(issued_[number].table);
}

std::vector<std::int64_t> LinkCollectives::issued(const std::string& operation) const {
  std::vector<std::int64_t> counts;
  for (const CollectiveEvent& event : events_)
    if (event.kind == CollectiveEvent::Kind::kIssued && event.operation == operation) counts.push_back(event.count);
  return counts;
}

void LinkCollectives::complete(std::size_t number, const std::source_location& where) {
  for (; completed_ <= number; ++completed_) run(issued_[completed_], completed_ + 1, where);
}

void LinkCollectives::run(Issued& issued, std::size_t number, const std::source_location& where) {
  const std::size_t bytes = issued.values.size() * sizeof(float) + issued.table.size() * sizeof(std::int64_t);
  ProgressEntry entry(progress_, RankState::kCollective, -1, bytes, where, name_of(issued.header.operation));
  try {
    require_agreement(issued, number);
    move(issued, entry);
  } catch (const IoError& error) {
    throw IoError(concat(describe(issued.header), ", collective number ", number, ": ", error.what()), 0);
  }
  if (issued.header.operation == Operation::kAllReduceOfDoubles) {
    std::ranges::fill(issued.double_result, 0.0);
    for (std::size_t i = 0; i < issued.table.size(); ++i)
      issued.double_result[i % issued.double_result.size()] += std::bit_cast<double>(issued.table[i]);
  }
  const bool has_parts = issued.header.operation == Operation::kReduceScatter;
  const auto begin = has_parts ? static_cast<std::ptrdiff_t>(issued.result.size()) * rank_ : std::ptrdiff_t{0};
  std::ranges::copy_n(issued.values.begin() + begin, std::ssize(issued.result), issued.result.begin());
  issued.values = {};
}

void LinkCollectives::send(int peer, std::span<const std::byte> bytes) { link_(peer).send(bytes); }
void LinkCollectives::receive(int peer, std::span<std::byte> bytes) { link_(peer).receive(bytes); }

// Every rank sends its collective's header; the hub compares them and reports any mismatch to all.
void LinkCollectives::require_agreement(const Issued& issued, std::size_t number) {
  Header own = issued.header;
  std::int64_t length = 0;  // of the error text that follows
  std::string complaint;
  if (rank_ != kHub) {
    send(kHub, bytes_of(own));
    receive(kHub, bytes_of(length));
    complaint.resize(std::min(static_cast<std::size_t>(length), kLongestComplaint));
    receive(kHub, std::as_writable_bytes(std::span(complaint)));
  } else {
    for (int peer = kHub + 1; peer < world_size_; ++peer) {
      Header theirs{};
      receive(peer, bytes_of(theirs));
      if (theirs == own || !complaint.empty()) continue;
      complaint = concat("collective number ", number, " is ", describe(own), " on rank ", kHub, " and ",
                         describe(theirs), " on rank ", peer, ": all ranks must issue the same ones in the same order");
    }
    length = static_cast<std::int64_t>(complaint.size());
    for (int peer = kHub + 1; peer < world_size_; ++peer) {
      send(peer, bytes_of(length));
      send(peer, std::as_bytes(std::span(complaint)));
    }
  }
  if (!complaint.empty()) throw MismatchError(complaint);
}

void LinkCollectives::move(Issued& issued, ProgressEntry& entry) {
  const auto values = std::as_writable_bytes(std::span(issued.values));
  const auto table = std::as_writable_bytes(std::span(issued.table));
  const std::size_t row_bytes = table.size() / static_cast<std::size_t>(world_size_);
  const auto row_of = [&](int rank) { return table.subspan(row_bytes * static_cast<std::size_t>(rank), row_bytes); };
  const bool is_broadcast = issued.header.operation == Operation::kBroadcast;
  if (rank_ != kHub) {
    if (!is_broadcast || issued.header.root == rank_) {
      send(kHub, values);
      send(kHub, row_of(rank_));
      entry.advance(values.size() + row_bytes, true);
    }
    receive(kHub, values);
    receive(kHub, table);
    return;
  }
  std::vector<float> arrived(issued.values.size());
  for (int peer = kHub + 1; peer < world_size_; ++peer) {
    if (is_broadcast && peer != issued.header.root) continue;
    receive(peer, std::as_writable_bytes(std::span(arrived)));
    receive(peer, row_of(peer));
    entry.advance(values.size() + row_bytes, false);
    if (is_broadcast) issued.values = arrived;
    const Operation operation = issued.header.operation;
    if (operation == Operation::kAllGather) {
      const std::size_t part = arrived.size() / static_cast<std::size_t>(world_size_);
      const auto begin = static_cast<std::ptrdiff_t>(part) * peer;
      std::ranges::copy_n(arrived.begin() + begin, static_cast<std::ptrdiff_t>(part), issued.values.begin() + begin);
    }
    if (operation == Operation::kAllReduce || operation == Operation::kReduceScatter)
      for (std::size_t i = 0; i < arrived.size(); ++i) issued.values[i] += arrived[i];
  }
  if (issued.header.op == ReduceOp::kMean)
    for (float& value : issued.values) value /= static_cast<float>(world_size_);
  for (int peer = kHub + 1; peer < world_size_; ++peer) {
    send(peer, std::as_bytes(std::span(issued.values)));
    send(peer, table);
    entry.advance(values.size() + table.size(), true);
  }
}

}  // namespace lockstep::exercise
