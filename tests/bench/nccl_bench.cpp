// nccl_bench [--world-size N] [--json FILE]: what our process group adds to NCCL. All-reduces one after the other, by
// ncclAllReduce itself and by NcclProcessGroup, in the same run and on the same ranks; at least two, since NCCL does
// nothing for one. Rank 0's figures are the median of several rounds, per call, in microseconds:
//   device  between two events in the stream;
//   issue   until the call returns, on the thread that issues;
//   cpu     processor time of all threads of the process (our watchdog, NCCL's own), until the stream is idle.
// If ranks share a GPU, the device's time says nothing; issue and cpu still do.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "03_nccl/nccl_process_group.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "comm/rendezvous.hpp"
#include "device/copy.hpp"
#include "device/storage.hpp"
#include "launch/spawn.hpp"

using namespace lockstep;

namespace {

constexpr int kCalls = 50;   // per round
constexpr int kRounds = 11;  // odd: the median is one of them
constexpr std::int64_t kLeastBytes = 4 << 10, kFactor = 128;

struct Options {
  int world_size = 2;
  std::string device = "cuda";
  std::int64_t max_bytes = std::int64_t{64} << 20;
  std::string json;
};

// Per call, in microseconds.
struct Times {
  double device, issue, cpu;
};

// Two ways to do the same, on one rank.
struct Contenders {
  comm::ProcessGroup& group;
  ncclComm_t raw;
  Stream& stream;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double process_cpu_microseconds() {
  timespec used{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) throw Error("the process's processor time cannot be read");
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

// Unlike Stream::synchronize(), which may spin, and whose processor time would count.
void sleep_until_idle(const Stream& stream) {
  while (!stream.is_idle()) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

Times measure(const Contenders& contenders, const std::function<void()>& call) {
  const Stream& stream = contenders.stream;
  std::vector<double> device, issue, cpu;
  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    Event begin(stream.device(), Event::Timing::kTimed), end(stream.device(), Event::Timing::kTimed);
    contenders.group.barrier().synchronize();
    const double cpu_begin = process_cpu_microseconds();
    begin.record(stream);
    const auto issue_begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::micro> issued = std::chrono::steady_clock::now() - issue_begin;
    end.record(stream);
    sleep_until_idle(stream);
    const double used = process_cpu_microseconds() - cpu_begin;
    if (round < 0) continue;
    device.push_back(end.milliseconds_since(begin) * 1e3 / kCalls);
    issue.push_back(issued.count() / kCalls);
    cpu.push_back(used / kCalls);
  }
  return {median(std::move(device)), median(std::move(issue)), median(std::move(cpu))};
}

void check(ncclResult_t result) {
  if (result != ncclSuccess) throw Error(concat("NCCL: ", ncclGetErrorString(result)));
}

// One call with numbers that tell who took part; zeros stay for the measurement, since they do not grow.
void require_sum(const Contenders& contenders, const comm::Buffer& buffer, const std::function<void()>& call) {
  const int ranks = contenders.group.world_size();
  std::vector<float> values(static_cast<std::size_t>(buffer.count), static_cast<float>(contenders.group.rank() + 1));
  const Place here{buffer.data, buffer.device}, host{values.data(), Device{}};
  const auto bytes = static_cast<std::size_t>(buffer.bytes());
  copy_memory(here, host, bytes);
  call();
  copy_memory(host, here, bytes);
  const auto expected = static_cast<float>(ranks * (ranks + 1) / 2);
  if (std::ranges::any_of(values, [&](float value) { return value != expected; })) throw Error("wrong sum");
  zero_memory(here, bytes);
}

nlohmann::json measure_size(std::int64_t bytes, const Contenders& contenders) {
  Stream& stream = contenders.stream;
  const auto storage = Storage::allocate(static_cast<std::size_t>(bytes), stream.device());
  const comm::Buffer buffer{storage->data(), bytes / static_cast<std::int64_t>(sizeof(float)), DType::kFloat32,
                            stream.device(), storage};
  const auto count = static_cast<std::size_t>(buffer.count);
  const auto call_nccl = [&] {
    check(
        ncclAllReduce(storage->data(), storage->data(), count, ncclFloat32, ncclSum, contenders.raw, stream.handle()));
  };
  const auto call_ours = [&] {
    comm::Work work = contenders.group.all_reduce(buffer, comm::ReduceOp::kSum, {.stream = &stream});
    work.wait(stream);
  };
  require_sum(contenders, buffer, call_nccl);
  const Times direct = measure(contenders, call_nccl);
  require_sum(contenders, buffer, call_ours);
  const Times ours = measure(contenders, call_ours);
  return {{"bytes", bytes},
          {"nccl_us", direct.device},
          {"ours_us", ours.device},
          {"nccl_issue_us", direct.issue},
          {"ours_issue_us", ours.issue},
          {"nccl_cpu_us", direct.cpu},
          {"ours_cpu_us", ours.cpu}};
}

ncclComm_t join_raw(const comm::JobContext& context) {
  const auto deadline = Deadline::after(context.limits.join);
  const ncclUniqueId id = nccl::exchange_unique_id(context, "nccl_bench/", deadline);
  ncclComm_t raw = nullptr;
  check(ncclCommInitRank(&raw, context.world_size, id, context.rank));
  return raw;
}

int run_rank(const Options& options) {
  const comm::JobContext context = comm::rendezvous("env://");
  const bool is_first = context.rank == 0;
  const DeviceType type = Device::parse(options.device).type;
  const bool is_sharing = type == DeviceType::kCuda && Device::count(type) < context.local_world_size;
  const Device device = Device::for_rank(options.device, {.local_rank = context.local_rank, .share_gpu = is_sharing});
  const auto group = nccl::make_nccl_process_group(context, {.device = device, .share_gpu = is_sharing});
  if (is_first && is_sharing) std::cout << "ranks share a GPU: nccl_us and ours_us say nothing\n";
  make_current(device);
  const ncclComm_t raw = join_raw(context);
  nlohmann::json rows = nlohmann::json::array();
  {
    Stream stream(device);
    const StreamGuard guard(stream);
    const Contenders contenders{*group, raw, stream};
    for (std::int64_t bytes = kLeastBytes; bytes <= options.max_bytes; bytes *= kFactor) {
      rows.push_back(measure_size(bytes, contenders));
      if (is_first) std::cout << dump_json(rows.back()) << std::endl;
    }
  }
  check(ncclCommDestroy(raw));
  if (is_first && !options.json.empty()) {
    write_file(options.json, dump_json(nlohmann::json{{"nccl", nccl::library_version()},
                                                      {"device", device.name()},
                                                      {"world_size", context.world_size},
                                                      {"shares_gpu", is_sharing},
                                                      {"rows", rows}},
                                       2) +
                                 "\n");
  }
  return 0;
}

int run(const Options& options) {
  Device::parse(options.device).require_available();
  return launch::spawn([&] { return run_rank(options); }, options.world_size);
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Measures what the process group adds to NCCL");
  Options options;
  app.add_option("--world-size", options.world_size, "Ranks; with one NCCL does nothing").check(whole_number(2, 64));
  app.add_option("--device", options.device, "cuda; emulated only shows that the program works");
  app.add_option("--max-bytes", options.max_bytes, "The largest buffer; from 4096 on, times 128 each")
      .check(whole_number(kLeastBytes));
  app.add_option("--json", options.json, "Where to write the figures");
  return run_main(app, argc, argv, [&] { return run(options); });
}
