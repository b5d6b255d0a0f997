#include "emulator/runtime/launch_log.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

namespace lockstep::emulator {
namespace {

struct LaunchLog {
  std::mutex mutex;
  std::vector<Launch> launches;
};

LaunchLog& launch_log() {
  static auto* const log = new LaunchLog;  // NOLINT: never destroyed, for launches of other threads at exit
  return *log;
}

std::uint64_t product(const dim3& size) { return std::uint64_t{size.x} * size.y * size.z; }

auto key_of(const Launch& launch) {
  return std::tie(launch.kernel, launch.place.file, launch.place.line, launch.blocks, launch.threads,
                  launch.is_in_default_stream);
}

}  // namespace

std::vector<Launch> launches() {
  const std::scoped_lock lock(launch_log().mutex);
  return launch_log().launches;
}

void note_launch(const KernelCall& call, bool is_in_default_stream) {
  Launch noted{.kernel = call.name == nullptr ? "" : call.name,
               .place = {call.place.file == nullptr ? "" : call.place.file, call.place.line},
               .blocks = product(call.grid),
               .threads = product(call.block),
               .is_in_default_stream = is_in_default_stream};
  const std::scoped_lock lock(launch_log().mutex);
  const auto is_same = [&](const Launch& other) { return key_of(other) == key_of(noted); };
  if (std::ranges::none_of(launch_log().launches, is_same)) launch_log().launches.push_back(std::move(noted));
}

}  // namespace lockstep::emulator
