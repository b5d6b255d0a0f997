// link_probe: measures what this machine has instead of links between GPUs: copying in memory, a byte through a pipe,
// TCP between two threads. Fits alpha and beta to the TCP times and predicts the ring all-reduce of 100 MB.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

#include "00_why_many_gpus/cost_model.hpp"
#include "base/command_line.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/timing.hpp"
#include "base/unique_fd.hpp"
#include "net/stream_socket.hpp"
#include "net/tcp_listener.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::plan;

using Bytes = std::vector<std::byte>;

// Bytes per second of memcpy on one thread, on more than any cache holds. Each byte counts once although it is read and
// written.
double measure_copy() {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  Bytes from(kBytes, std::byte{1}), to(kBytes);
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const Stopwatch stopwatch;
    std::memcpy(to.data(), from.data(), kBytes);
    times.push_back(stopwatch.seconds());
    from[static_cast<std::size_t>(i)] = to[kBytes - 1];  // uses the copy, so that no compiler drops it
  }
  return kBytes / median(std::move(times));
}

struct Pipe {
  UniqueFd reader, writer;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw IoError("making a pipe", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void pass_on(const UniqueFd& writer) {
  const std::byte byte{};
  if (::write(writer.get(), &byte, 1) != 1) throw IoError("writing a byte to a pipe", errno);
}

void take(const UniqueFd& reader, const Deadline& deadline) {
  pollfd ready{reader.get(), POLLIN, 0};
  if (::poll(&ready, 1, deadline.poll_timeout_ms()) != 1) throw TimeoutError("no byte came through a pipe in time");
  std::byte byte{};
  if (::read(reader.get(), &byte, 1) != 1) throw IoError("reading a byte from a pipe", errno);
}

// Half of a byte's round trip to another thread: one hand-over, including the wake-up of a sleeping thread.
double measure_pipe(const Deadline& deadline) {
  constexpr int kRounds = 500;
  const Pipe there = make_pipe(), back = make_pipe();
  auto echo = std::async(std::launch::async, [&] {
    for (int i = 0; i < kRounds; ++i) {
      take(there.reader, deadline);
      pass_on(back.writer);
    }
  });
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const Stopwatch stopwatch;
    pass_on(there.writer);
    take(back.reader, deadline);
    times.push_back(stopwatch.seconds() / 2);
  }
  echo.get();
  return median(std::move(times));
}

int rounds_for(double bytes) { return bytes < 1e5 ? 200 : bytes < 4e6 ? 40 : 8; }

// Median one-way time: half of a message's round trip to another thread.
std::vector<LinkSample> measure_tcp(const std::vector<double>& sizes, const Deadline& deadline) {
  net::TcpListener listener;
  auto echo = std::async(std::launch::async, [&] {
    net::StreamSocket socket = listener.accept(deadline);
    for (const double bytes : sizes) {
      Bytes message(static_cast<std::size_t>(bytes));
      for (int i = 0; i < rounds_for(bytes); ++i) {
        socket.receive_exactly(message, deadline);
        socket.send_all(message, deadline);
      }
    }
  });
  net::StreamSocket socket = net::StreamSocket::connect(listener.address(), deadline);
  std::vector<LinkSample> samples;
  for (const double bytes : sizes) {
    Bytes message(static_cast<std::size_t>(bytes), std::byte{1});
    std::vector<double> times;
    for (int i = 0; i < rounds_for(bytes); ++i) {
      const Stopwatch stopwatch;
      socket.send_all(message, deadline);
      socket.receive_exactly(message, deadline);
      times.push_back(stopwatch.seconds() / 2);
    }
    samples.push_back({bytes, median(std::move(times))});
  }
  echo.get();
  return samples;
}

void print_fit(const std::vector<LinkSample>& samples, const Link& link) {
  TextTable table;
  table.add({"bytes", "measured us", "predicted us", "off by"});
  for (const LinkSample& sample : samples) {
    const double predicted = link.seconds(sample.bytes);
    table.add({with_digits(sample.bytes, 0), with_digits(sample.seconds * 1e6, 1), with_digits(predicted * 1e6, 1),
               with_digits(100 * (predicted / sample.seconds - 1), 0) + " %"});
  }
  std::cout << table.text();
}

// Twice: by the fitted line, and by the largest message alone. If the two differ, the line is too simple: a large
// message leaves the processor's cache before the other side reads it. Cutting it into segments keeps it there.
void print_ring(int world_size, double megabytes, const Link& link, const LinkSample& largest) {
  const AllReduceCost ring = all_reduce_cost(Algorithm::kRing, world_size, megabytes * 1e6);
  const double slow_seconds = ring.one_way_bytes * largest.seconds / largest.bytes;
  std::cout << "A ring of " << world_size << " ranks, each with such a link and a core of its own, would reduce\n"
            << megabytes << " MB in " << with_digits(ring.seconds(link) * 1e3, 0) << " ms by the fitted line, in "
            << with_digits(slow_seconds * 1e3, 0) << " ms at the pace of the largest message\n";
}

int run(int world_size, double megabytes, double timeout_s) {
  const std::vector<double> sizes = {1, 64, 1024, 16'384, 262'144, 1 << 20, 4 << 20, 16 << 20};
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3)));
  std::cout << "All figures are this machine's, at this moment (" << std::thread::hardware_concurrency() << " cores)\n"
            << "copying in memory, one thread: " << with_digits(measure_copy() / 1e9, 1) << " GB/s\n"
            << "a byte to another thread through a pipe: " << with_digits(measure_pipe(deadline) * 1e6, 1) << " us\n"
            << "TCP to another thread (loopback), one way:\n";
  const std::vector<LinkSample> samples = measure_tcp(sizes, deadline);
  const Link link = fit_link(samples);
  print_fit(samples, link);
  std::cout << "fitted: alpha " << with_digits(link.alpha_seconds * 1e6, 1) << " us, beta "
            << with_digits(link.bytes_per_second / 1e9, 2) << " GB/s; half of a "
            << with_digits(link.half_latency_bytes() / 1e3, 0) << " KB message's time is latency\n";
  print_ring(world_size, megabytes, link, samples.back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Measures this machine's links, fits alpha and beta, and predicts a ring all-reduce");
  int world_size = 4;
  double megabytes = 100, timeout_s = 30;
  app.add_option("--world-size", world_size, "Ranks of the ring").check(whole_number(1, 4096));
  app.add_option("--megabytes", megabytes, "Of the buffer on each rank").check(positive_number());
  app.add_option("--timeout", timeout_s, "Seconds for all measurements").check(positive_seconds());
  return lockstep::run_main(app, argc, argv, [&] { return run(world_size, megabytes, timeout_s); });
}
