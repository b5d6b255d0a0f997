// collective_traffic: every collective of the site's panel "ring", on real ranks over TCP: ring.test.js compares the
// panel with it. Star and ring are the groups of chapters 01 and 02; mesh and tree, which have no group, are written
// here with send() and recv(). Each rank prints, for every collective and topology, what it has sent and whose values
// it received:
//   all_gather tree 72 bytes 1 messages: 0.. .1. ..2
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "01_mini_all_reduce/star_process_group.hpp"
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"

namespace {

using namespace lockstep;

using Values = std::vector<std::int64_t>;

constexpr int kRoot = 0;
constexpr std::int64_t kPart = 3;  // elements of a part; a buffer has one for each rank
constexpr std::int64_t kPartBytes = kPart * static_cast<std::int64_t>(sizeof(std::int64_t));
constexpr std::string_view kCollectives[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                             "reduce",     "scatter",        "gather",     "barrier"};

// Parts [first, first + count) of a buffer.
struct Parts {
  int first = 0;
  int count = 0;
};

std::span<std::int64_t> of(Values& values, Parts parts) {
  return std::span(values).subspan(static_cast<std::size_t>(parts.first * kPart),
                                   static_cast<std::size_t>(parts.count * kPart));
}

Values parts_of(int rank, int count) {
  return Values(static_cast<std::size_t>(count * kPart), std::int64_t{1} << (3 * rank));  // rank r contributes 8^r
}

void add(std::span<std::int64_t> own, std::span<const std::int64_t> theirs) {
  std::ranges::transform(own, theirs, own.begin(), std::plus<>());
}

// Runs a collective. Returns what this rank has afterwards: the whole buffer, its part of it, or nothing.
using Run = std::function<Values(comm::ProcessGroup&, std::string_view collective)>;

// Of a buffer after a collective, what the rank was to get.
Values result_in(Values& all, std::string_view collective, int rank) {
  const bool is_only_for_root = collective == "reduce" || collective == "gather";
  if (collective == "barrier" || (is_only_for_root && rank != kRoot)) return {};
  if (collective != "reduce_scatter" && collective != "scatter") return all;
  const std::span<std::int64_t> mine = of(all, {rank, 1});
  return {mine.begin(), mine.end()};
}

comm::Work issue(comm::ProcessGroup& group, std::string_view collective, Values& part, Values& all) {
  const comm::Buffer one = comm::host_buffer(std::span(part)), whole = comm::host_buffer(std::span(all));
  if (collective == "all_reduce") return group.all_reduce(whole);
  if (collective == "reduce_scatter") return group.reduce_scatter(one, whole);
  if (collective == "all_gather") return group.all_gather(whole, one);
  if (collective == "broadcast") return group.broadcast(whole, kRoot);
  if (collective == "reduce") return group.reduce(whole, kRoot);
  if (collective == "scatter") return group.scatter(one, whole, kRoot);
  if (collective == "gather") return group.gather(whole, one, kRoot);
  return group.barrier();
}

Values with_group(comm::ProcessGroup& group, std::string_view collective) {
  const int rank = group.rank(), world_size = group.world_size();
  Values part = parts_of(rank, 1), all = parts_of(rank, world_size);
  issue(group, collective, part, all).synchronize();
  const bool is_dealt_out = collective == "reduce_scatter" || collective == "scatter";
  return is_dealt_out ? part : result_in(all, collective, rank);
}

// The parts that `from` sends to `to` if every message goes directly to its destination.
Parts sent_directly(std::string_view collective, int from, int to, int world_size) {
  if (collective == "all_reduce" || (collective == "broadcast" && from == kRoot) ||
      (collective == "reduce" && to == kRoot))
    return {0, world_size};
  if (collective == "reduce_scatter" || (collective == "scatter" && from == kRoot)) return {to, 1};
  if (collective == "all_gather" || (collective == "gather" && to == kRoot)) return {from, 1};
  return {};
}

bool is_sent_directly(std::string_view collective, int from, int to, int world_size) {
  return collective == "barrier" || sent_directly(collective, from, to, world_size).count > 0;
}

// All messages at the same time; sums are added in the order of the ranks.
Values on_mesh(comm::ProcessGroup& group, std::string_view collective) {
  const int rank = group.rank(), world_size = group.world_size();
  Values all = parts_of(rank, world_size);
  std::vector<Values> arrived(static_cast<std::size_t>(world_size));
  group.group_start();
  for (int peer = 0; peer < world_size; ++peer) {
    if (peer == rank) continue;
    if (is_sent_directly(collective, rank, peer, world_size)) {
      group.send(comm::host_buffer(of(all, sent_directly(collective, rank, peer, world_size))), peer);
    }
    if (is_sent_directly(collective, peer, rank, world_size)) {
      Values& theirs = arrived[static_cast<std::size_t>(peer)];
      theirs.resize(of(all, sent_directly(collective, peer, rank, world_size)).size());
      group.recv(comm::host_buffer(std::span(theirs)), peer);
    }
  }
  group.group_end().synchronize();

  const bool adds = collective.find("reduce") != std::string_view::npos;
  for (int peer = 0; peer < world_size; ++peer) {
    const std::span<std::int64_t> own = of(all, sent_directly(collective, peer, rank, world_size));
    const Values& theirs = arrived[static_cast<std::size_t>(peer)];
    if (adds && !theirs.empty()) add(own, theirs);
    if (!adds) std::ranges::copy(theirs, own.begin());
  }
  return result_in(all, collective, rank);
}

// A tree whose root is rank 0: at distance 1, 2, 4, ... a rank that is an odd multiple of it is the child of the rank
// that far below it. A message has the whole buffer, the parts of the child and all ranks below the child, or nothing.
class Tree {
 public:
  enum class Content { kWhole, kSubtree, kNothing };

  Tree(comm::ProcessGroup& group, Values& values, Content content)
      : group_(group), values_(values), content_(content), rank_(group.rank()), world_size_(group.world_size()) {}

  // Children's values are added to the rank's own, or replace them, before the parent gets them.
  void up(bool adds) {
    for (int distance = 1; distance < world_size_; distance *= 2) {
      if (rank_ % (2 * distance) == distance) return send(rank_ - distance, rank_, distance);
      if (rank_ + distance < world_size_) receive(rank_ + distance, rank_ + distance, distance, adds);
    }
  }

  void down() {
    int distance = 1;
    for (; distance < world_size_ && rank_ % (2 * distance) == 0; distance *= 2) {
    }
    if (rank_ != kRoot) receive(rank_ - distance, rank_, distance, false);
    for (distance /= 2; distance >= 1; distance /= 2) {
      if (rank_ + distance < world_size_) send(rank_ + distance, rank_ + distance, distance);
    }
  }

 private:
  std::span<std::int64_t> content(int child, int distance) {
    if (content_ == Content::kNothing) return {};
    const Parts subtree{child, std::min(distance, world_size_ - child)};
    return of(values_, content_ == Content::kWhole ? Parts{0, world_size_} : subtree);
  }

  void send(int peer, int child, int distance) {
    group_.send(comm::host_buffer(content(child, distance)), peer).synchronize();
  }

  void receive(int peer, int child, int distance, bool adds) {
    const std::span<std::int64_t> own = content(child, distance);
    Values theirs(own.size());
    group_.recv(comm::host_buffer(std::span(theirs)), peer).synchronize();
    if (adds) {
      add(own, theirs);
    } else {
      std::ranges::copy(theirs, own.begin());
    }
  }

  comm::ProcessGroup& group_;
  Values& values_;
  const Content content_;
  const int rank_, world_size_;
};

// Everything that has two parts goes up the tree and then down.
Values on_tree(comm::ProcessGroup& group, std::string_view collective) {
  using enum Tree::Content;
  Values all = parts_of(group.rank(), group.world_size());
  const bool is_reduced = collective.find("reduce") != std::string_view::npos;
  const bool is_gathered = collective.find("gather") != std::string_view::npos;
  const bool is_scattered = collective.find("scatter") != std::string_view::npos;
  if (collective == "barrier") {
    Tree(group, all, kNothing).up(false);
    Tree(group, all, kNothing).down();
  }
  if (is_reduced) Tree(group, all, kWhole).up(true);
  if (is_gathered) Tree(group, all, kSubtree).up(false);
  if (is_scattered) Tree(group, all, kSubtree).down();
  if (collective == "broadcast" || collective.starts_with("all_")) Tree(group, all, kWhole).down();
  return result_in(all, collective, group.rank());
}

// "0.2": the sum of ranks 0 and 2; '!' is a rank that is counted more than once.
std::string decoded(std::int64_t sum, int world_size) {
  std::string text;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::int64_t times = (sum >> (3 * rank)) & 7;
    text += times == 0 ? '.' : times == 1 ? static_cast<char>('0' + rank) : '!';
  }
  return text;
}

void report(comm::ProcessGroup& group, std::string_view topology, const Run& run, std::string_view collective) {
  const comm::Traffic before = group.traffic_sent();
  const Values result = run(group, collective);
  const comm::Traffic after = group.traffic_sent();
  std::string parts;
  for (std::size_t i = 0; i < result.size(); i += kPart) {
    const auto first = result.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::ranges::count(first, first + kPart, *first) != kPart) throw Error("a part has several sums");
    parts += ' ' + decoded(*first, group.world_size());
  }
  std::cout << concat(collective, ' ', topology, ' ', after.payload_bytes - before.payload_bytes, " bytes ",
                      after.messages - before.messages, " messages:", parts, '\n')
            << std::flush;
}

int run_rank() {
  const comm::JobContext job = comm::rendezvous("env://");
  const std::vector<std::pair<std::string_view, Run>> topologies = {
      {"ring", with_group}, {"tree", on_tree}, {"star", with_group}, {"mesh", on_mesh}};
  for (const auto& [topology, run] : topologies) {
    // Segments as long as a part: a chain then sends the buffer in one message for each part.
    const auto group = topology == "ring"
                           ? ring::make_ring_process_group(job, {.segment_bytes = kPartBytes, .small_bytes = 0})
                           : star::make_star_process_group(job);
    for (const std::string_view collective : kCollectives) report(*group, topology, run, collective);
    group->barrier().synchronize();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Runs every collective on a ring, a tree, a star and a mesh, and counts what each rank sends");
  int world_size = 4;
  app.add_option("--world-size", world_size, "Number of ranks").check(whole_number(2, 8));
  return run_main(app, argc, argv, [&] { return launch::spawn([] { return run_rank(); }, world_size); });
}
