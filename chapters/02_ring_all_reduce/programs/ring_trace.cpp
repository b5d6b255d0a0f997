// ring_trace: one real ring all-reduce over TCP, in which every rank records the time of each message it sends or
// receives. The site's panel "ring" replays the resulting file.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"
#include "trace/recorder.hpp"
#include "trace/trace_file.hpp"

namespace {

using namespace lockstep;
namespace fs = std::filesystem;

struct Options {
  int world_size = 4;
  std::int64_t bytes = 4 << 20;
  fs::path out = "runs/ring_trace";
};

// Rank r contributes 8^r: no other sum of ranks is 11...1 in base 8.
void reduce_and_check(comm::ProcessGroup& group, std::vector<float>& values) {
  std::ranges::fill(values, static_cast<float>(std::int64_t{1} << (3 * group.rank())));
  group.all_reduce(comm::host_buffer(std::span(values))).synchronize();
  const auto expected = static_cast<float>(((std::int64_t{1} << (3 * group.world_size())) - 1) / 7);
  if (std::ranges::count(values, expected) != std::ssize(values)) throw Error("the ring gives a wrong sum");
}

// Each rank writes a file; rank 0 merges them. @return  The merged file.
fs::path write_traces(comm::ProcessGroup& group, const trace::Recorder& recorder, const fs::path& folder) {
  fs::create_directories(folder);
  const std::vector<trace::RankTrace> own = {recorder.snapshot()};
  trace::write_trace(folder / trace::trace_file_name(group.rank()), own);
  group.barrier().synchronize();
  const fs::path joined = folder / "trace.json";
  if (group.rank() != 0) return joined;
  std::vector<trace::RankTrace> all;
  for (int rank = 0; rank < group.world_size(); ++rank) {
    for (trace::RankTrace& each : trace::read_trace(folder / trace::trace_file_name(rank))) all.push_back(std::move(each));
  }
  trace::write_trace(joined, trace::align(std::move(all)));
  return joined;
}

int run_rank(const Options& options) {
  const comm::JobContext job = comm::rendezvous("env://");
  const auto group = ring::make_ring_process_group(job, {.small_bytes = 0});
  const auto recorder = std::make_shared<trace::Recorder>(job.rank, 100'000, trace::MessageDetail::kMessages);
  std::vector<float> values(static_cast<std::size_t>(options.bytes) / sizeof(float));
  reduce_and_check(*group, values);  // the first call connects and warms up
  group->barrier().synchronize();

  (void)group->record_to(recorder);
  reduce_and_check(*group, values);
  (void)group->record_to(nullptr);

  const fs::path joined = write_traces(*group, *recorder, options.out);
  if (job.rank == 0) {
    std::cout << "one all-reduce of " << options.bytes << " bytes on each of " << job.world_size
              << " ranks, with all its messages: " << joined.string() << "\nThe site's panel \"ring\" replays it.\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Records every message of a ring all-reduce, to be replayed by the site's panel \"ring\"");
  Options options;
  std::string out = options.out.string();
  app.add_option("--world-size", options.world_size, "Number of ranks, 2 to 8").check(whole_number(2, 8));
  app.add_option("--bytes", options.bytes, "Bytes of the buffer on each rank").check(whole_number(4, 1 << 28));
  app.add_option("--out", out, "Folder for the files");
  return run_main(app, argc, argv, [&] {
    options.out = out;
    return launch::spawn([&] { return run_rank(options); }, options.world_size);
  });
}
