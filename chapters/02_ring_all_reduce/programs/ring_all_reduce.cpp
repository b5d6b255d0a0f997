// DERIVES FROM chapters/01_mini_all_reduce/programs/star_all_reduce.cpp new<=0 changed<=2
// All ranks of an all-reduce from one command. Rank r contributes 1, 2, 3, ...
// times r + 1; every rank prints what it received and how much it sent.
#include <iostream>

#include "02_ring_all_reduce/ring_process_group.hpp"  // CHANGED
#include "base/command_line.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"

using namespace lockstep;

namespace {

// "[10, 20, 30, ...]": at most the first three.
std::string beginning_of(const std::vector<float>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < 3; ++i)
    text += concat(i == 0 ? "" : ", ", values[i]);
  return "[" + text + (values.size() > 3 ? ", ...]" : "]");
}

int run_rank(std::int64_t count) {
  const comm::JobContext job = comm::rendezvous("env://");
  const auto group = ring::make_ring_process_group(job, {.small_bytes = 0});  // CHANGED

  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i + 1) * static_cast<float>(job.rank + 1);
  const std::string before = beginning_of(values);
  group->all_reduce(comm::host_buffer(std::span(values))).synchronize();

  const auto sent = group->traffic_sent();
  std::cout << concat(before, " -> ", beginning_of(values), ", sent ",
                      sent.payload_bytes, " bytes, ", sent.header_bytes,
                      " of headers\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Runs an all-reduce with all its ranks on this machine");
  int world_size = 4;
  std::int64_t count = 3;
  const OptionCheck ranks = whole_number(1, 64);
  app.add_option("--world-size", world_size, "Number of ranks").check(ranks);
  app.add_option("--count", count, "Values per rank").check(whole_number(0));
  return run_main(app, argc, argv, [&] {
    return launch::spawn([&] { return run_rank(count); }, world_size);
  });
}
