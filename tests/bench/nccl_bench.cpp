// nccl_bench [--json FILE]: what our process group adds to NCCL. One rank, one GPU: all-reduces one after the other, by
// ncclAllReduce itself and by NcclProcessGroup, in the same run. Times are the median of several rounds, per call: on
// the device between two events, and of the host while it issues. No figure of a link: one rank sends nothing.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "03_nccl/nccl_process_group.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "device/copy.hpp"
#include "device/storage.hpp"

using namespace lockstep;

namespace {

constexpr int kCalls = 50;   // per round
constexpr int kRounds = 11;  // odd: the median is one of them

// Per call, in microseconds.
struct Times {
  double device;
  double issue;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Times measure(const Stream& stream, const std::function<void()>& call) {
  std::vector<double> device, issue;
  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    Event begin(stream.device(), Event::Timing::kTimed), end(stream.device(), Event::Timing::kTimed);
    begin.record(stream);
    const auto issue_begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::micro> issued = std::chrono::steady_clock::now() - issue_begin;
    end.record(stream);
    stream.synchronize();
    if (round < 0) continue;
    device.push_back(end.milliseconds_since(begin) * 1e3 / kCalls);
    issue.push_back(issued.count() / kCalls);
  }
  return {median(std::move(device)), median(std::move(issue))};
}

void check(ncclResult_t result) {
  if (result != ncclSuccess) throw Error(concat("NCCL: ", ncclGetErrorString(result)));
}

nlohmann::json measure_size(std::size_t bytes, comm::ProcessGroup& group, ncclComm_t raw, Stream& stream) {
  const auto count = bytes / sizeof(float);
  const auto storage = Storage::allocate(bytes, stream.device());
  zero_memory({storage->data(), stream.device()}, bytes);
  const Times direct = measure(stream, [&] {
    check(ncclAllReduce(storage->data(), storage->data(), count, ncclFloat32, ncclSum, raw, stream.handle()));
  });
  const comm::Buffer buffer{storage->data(), static_cast<std::int64_t>(count), DType::kFloat32, stream.device(),
                            storage};
  const Times ours = measure(stream, [&] {
    comm::Work work = group.all_reduce(buffer, comm::ReduceOp::kSum, {.stream = &stream});
    work.wait(stream);
  });
  return {{"bytes", bytes},
          {"nccl_us", direct.device},
          {"ours_us", ours.device},
          {"nccl_issue_us", direct.issue},
          {"ours_issue_us", ours.issue}};
}

int run(const std::string& json_file) {
  const Device device{DeviceType::kCuda, 0};
  device.require_available();  // on the emulator a time would say nothing
  make_current(device);
  ncclUniqueId id{};
  ncclComm_t raw = nullptr;
  check(ncclGetUniqueId(&id));
  check(ncclCommInitRank(&raw, 1, id, 0));
  nlohmann::json rows = nlohmann::json::array();
  {
    const auto group = nccl::make_nccl_process_group(comm::JobContext(), {.device = device});
    Stream stream(device);
    const StreamGuard guard(stream);
    for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
      rows.push_back(measure_size(bytes, *group, raw, stream));
      std::cout << dump_json(rows.back()) << std::endl;
    }
  }
  check(ncclCommDestroy(raw));
  if (!json_file.empty()) {
    write_file(json_file, dump_json(nlohmann::json{{"nccl", nccl::library_version()}, {"rows", rows}}, 2) + "\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Measures what the process group adds to NCCL, on one GPU");
  std::string json_file;
  app.add_option("--json", json_file, "Where to write the figures");
  return run_main(app, argc, argv, [&] { return run(json_file); });
}
