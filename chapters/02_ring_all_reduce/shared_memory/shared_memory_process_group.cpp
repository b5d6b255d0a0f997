#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"

#include <utility>

#include "base/error.hpp"
#include "comm/shared_memory/shared_memory_transport.hpp"

namespace lockstep::ring {
namespace {

// For messages through the queues: small enough to stay in the cache between being written and being read.
constexpr std::int64_t kSegmentBytes = 256 * 1024;

}  // namespace

SharedMemoryProcessGroup::SharedMemoryProcessGroup(comm::JobContext job) : HostProcessGroup(std::move(job)) {
  if (world_size() == 1) return;
  const auto deadline = Deadline::after(context().limits.join);
  comm::SharedMemoryResult found = comm::make_shared_memory(context(), concat("shared_memory/", group_id()), deadline);
  if (!found.memory) {
    throw UnavailableError(concat("rank ", context().global_rank(rank()), ": the ranks cannot share memory: ",
                                  found.reason, "; the backend ring works everywhere"));
  }
  use(std::move(found.memory));
}

SharedMemoryProcessGroup::SharedMemoryProcessGroup(comm::JobContext job, std::shared_ptr<comm::SharedMemory> memory)
    : HostProcessGroup(std::move(job)) {
  use(std::move(memory));
}

SharedMemoryProcessGroup::~SharedMemoryProcessGroup() { shutdown(); }

void SharedMemoryProcessGroup::use(std::shared_ptr<comm::SharedMemory> memory) {
  const auto deadline = Deadline::after(context().limits.join);
  registered_ = std::make_unique<comm::RegisteredMemory>(memory);
  const SmallBufferLimits small = small_buffer_limits(world_size());
  meeting_ = std::make_unique<SharedMemoryMeeting>(memory, small.private_bytes, deadline);
  all_reduce_ = std::make_unique<SharedMemoryAllReduce>(*meeting_, *registered_, small);
  pull_ = std::make_unique<PullCollectives>(*meeting_, *registered_, small);
  HostProcessGroup::use(std::make_unique<comm::SharedMemoryTransport>(std::move(memory), deadline), kSegmentBytes);
}

// The memory makes collective calls of its own, on this thread, so all queued calls must be done first.
std::shared_ptr<Storage> SharedMemoryProcessGroup::allocate(std::size_t bytes, Device device) {
  require_no_open_group("allocate");
  if (!registered_ || !device.is_cpu()) return HostProcessGroup::allocate(bytes, device);
  barrier({.run_on = comm::RunOn::kCaller}).synchronize();
  return registered_->allocate(bytes, Deadline::after(context().limits.progress));
}

void SharedMemoryProcessGroup::run_all_reduce(const Call& call) {
  all_reduce_->run(call.values, call.fingerprint(), call.deadline);
}

void SharedMemoryProcessGroup::run_reduce(const Call& call) { run_all_reduce(call); }

void SharedMemoryProcessGroup::run_barrier(const Call& call) { run_all_reduce(call); }

void SharedMemoryProcessGroup::run_broadcast(const Call& call) {
  pull_->broadcast(call.values, call.root, call.fingerprint(), call.deadline);
}

void SharedMemoryProcessGroup::run_all_gather(const Call& call) {
  pull_->all_gather(call.values, call.input, call.fingerprint(), call.deadline);
}

void SharedMemoryProcessGroup::run_reduce_scatter(const Call& call) {
  pull_->reduce_scatter(call.values, call.input, call.fingerprint(), call.deadline);
}

std::unique_ptr<comm::ProcessGroup> SharedMemoryProcessGroup::do_split(comm::JobContext context) {
  return make_shared_memory_process_group(std::move(context));
}

std::unique_ptr<comm::ProcessGroup> make_shared_memory_process_group(comm::JobContext context) {
  return std::make_unique<SharedMemoryProcessGroup>(std::move(context));
}

}  // namespace lockstep::ring
