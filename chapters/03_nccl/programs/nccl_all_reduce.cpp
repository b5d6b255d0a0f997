// nccl_all_reduce: all ranks of an all-reduce on GPUs from one command. Rank r contributes 1, 2, 3, ... times r + 1, in
// the memory of its device, and prints what it received. The host waits only at the last copy: streams order kernels,
// copies and the collective.
#include <iostream>

#include "03_nccl/choose_backend.hpp"
#include "base/command_line.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"
#include "tensor/tensor.hpp"

namespace {

using namespace lockstep;

struct Options {
  int world_size = 2;
  std::int64_t count = 3;
  std::string device = accelerator_type() == DeviceType::kCuda ? "cuda" : "emulated";
  bool share_gpu = false;
};

// "[10, 20, 30, ...]": at most the first three.
std::string beginning_of(std::span<const float> values) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < 3; ++i) text += concat(i == 0 ? "" : ", ", values[i]);
  return "[" + text + (values.size() > 3 ? ", ...]" : "]");
}

int run_rank(const Options& options) {
  const comm::JobContext job = comm::rendezvous("env://");
  const RankPlace place{.local_rank = job.local_rank, .share_gpu = options.share_gpu};
  const Device device = Device::for_rank(options.device, place);
  device.require_available();
  const auto group = backend::make_process_group("nccl", job, {.device = device, .share_gpu = options.share_gpu});

  std::vector<float> values(static_cast<std::size_t>(options.count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i + 1) * static_cast<float>(job.rank + 1);

  Stream compute(device);  // where a program's kernels would run
  const StreamGuard guard(compute);
  const auto count = static_cast<std::int64_t>(values.size());
  const Tensor sums = Tensor::from(std::span<const float>(values), {count}).to(device);  // [count], on the device
  // The group's own stream waits for `compute` (the copy above), and then `compute` for the group's stream.
  comm::Work work = group->all_reduce(comm::buffer_of(sums), comm::ReduceOp::kSum, {.stream = &compute});
  work.wait(compute);
  const Tensor received = sums.to(Device{});  // after the all-reduce, because it is enqueued on `compute` after it

  work.synchronize();  // done by now; throws if something went wrong
  std::cout << concat(device.name(), ": ", beginning_of(values), " -> ", beginning_of(received.span<float>()), "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Runs an all-reduce on the GPUs of this machine, or on emulated ones");
  Options options;
  app.add_option("--world-size", options.world_size, "Number of ranks").check(whole_number(1, 64));
  app.add_option("--count", options.count, "Values per rank").check(whole_number(0));
  app.add_option("--device", options.device, "cuda or emulated, whichever the build has");
  app.add_flag("--share-gpu", options.share_gpu, "Ranks may share a GPU: right results, but slow");
  return lockstep::run_main(app, argc, argv, [&] {
    if (!launch::is_rank()) Device::parse(options.device).require_available();  // one line, not one per rank
    return launch::spawn([&] { return run_rank(options); }, options.world_size);
  });
}
