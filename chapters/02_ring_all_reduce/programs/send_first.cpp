// send_first: a ring in which every rank first sends its chunk and then receives, on blocking sockets. That works with
// a chunk that fits into the kernel's buffers; with a larger one all ranks wait for each other, and only the deadline
// ends it. Each rank is a thread. The ring of this chapter does not do this.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "base/command_line.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "net/stream_socket.hpp"
#include "net/tcp_listener.hpp"

namespace {

using namespace lockstep;

struct Rank {
  net::StreamSocket to_right, from_left;
  std::string outcome;  // empty: sent and received
};

// Every rank listens and its left neighbour connects.
std::vector<Rank> make_ring(int world_size) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(5));
  std::vector<Rank> ranks(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    const int left = ring::previous_of(rank, world_size);
    net::TcpListener listener;
    ranks[left].to_right = net::StreamSocket::connect(listener.address(), deadline);
    ranks[left].to_right.set_peer(concat("rank ", rank));
    ranks[rank].from_left = listener.accept(deadline);
    ranks[rank].from_left.set_peer(concat("rank ", left));
  }
  return ranks;
}

void send_then_receive(Rank& rank, std::size_t bytes, const Deadline& deadline) {
  const std::vector<std::byte> chunk(bytes);
  std::vector<std::byte> arrived(bytes);
  try {
    rank.to_right.send_all(chunk, deadline);
    rank.from_left.receive_exactly(arrived, deadline);
  } catch (const Error& error) {
    rank.outcome = error.what();
  }
}

int run(int world_size, std::size_t bytes, const Deadline& deadline) {
  std::vector<Rank> ranks = make_ring(world_size);
  {
    std::vector<std::jthread> threads;
    for (Rank& rank : ranks) threads.emplace_back([&] { send_then_receive(rank, bytes, deadline); });
  }
  bool has_hung = false;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string& outcome = ranks[rank].outcome;
    std::cout << "rank " << rank << ": " << (outcome.empty() ? concat("sent and received ", bytes, " bytes") : outcome)
              << '\n';
    has_hung = has_hung || !outcome.empty();
  }
  return has_hung ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Shows what happens in a ring in which all ranks send first");
  int world_size = 3;
  std::size_t bytes = 1000;
  double timeout_s = 1;
  app.add_option("--world-size", world_size, "Number of ranks").check(whole_number(2, 64));
  app.add_option("--bytes", bytes, "Bytes of a chunk").check(whole_number(1, 1 << 28));
  app.add_option("--timeout", timeout_s, "Seconds until the ranks give up").check(positive_seconds());
  return run_main(app, argc, argv, [&] {
    const std::chrono::milliseconds limit(static_cast<std::int64_t>(timeout_s * 1000));
    return run(world_size, bytes, Deadline::after(limit));
  });
}
