#include "emulated_nccl/registry.hpp"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "emulated_nccl/failure.hpp"

namespace lockstep::emulated_nccl {
namespace {

struct Registry {
  std::mutex mutex;
  std::uintptr_t next = 0x1000;
  std::map<ncclComm_t, std::shared_ptr<Communicator>> communicators;
};

void end_all() noexcept;

void say_what_this_is() {
  const std::string level = environment::get("NCCL_DEBUG").value_or("");
  if (level != "VERSION" && level != "INFO" && level != "TRACE") return;
  Logger("emulated NCCL").info("this is Lockstep's look-alike over sockets, not NVIDIA's library; times mean nothing");
}

Registry& registry() {
  static auto* const kept = [] {
    say_what_this_is();
    std::atexit(end_all);
    return new Registry;
  }();
  return *kept;
}

void end_all() noexcept {
  std::map<ncclComm_t, std::shared_ptr<Communicator>> left;
  {
    const std::scoped_lock lock(registry().mutex);
    left.swap(registry().communicators);
  }
  for (const auto& [handle, communicator] : left) communicator->abort();
  stop_serving();
}

}  // namespace

ncclComm_t add_handle(std::shared_ptr<Communicator> communicator) {
  const std::scoped_lock lock(registry().mutex);
  auto* const handle = reinterpret_cast<ncclComm_t>(registry().next++);
  registry().communicators.emplace(handle, std::move(communicator));
  return handle;
}

std::shared_ptr<Communicator> communicator_of(ncclComm_t handle) {
  const std::scoped_lock lock(registry().mutex);
  const auto found = registry().communicators.find(handle);
  nccl_require(found != registry().communicators.end(), ncclInvalidArgument,
               "the communicator is null, or was destroyed or aborted");
  return found->second;
}

void remove_handle(ncclComm_t handle) noexcept {
  std::shared_ptr<Communicator> last;  // may be destroyed here, without the lock
  const std::scoped_lock lock(registry().mutex);
  const auto found = registry().communicators.find(handle);
  if (found == registry().communicators.end()) return;
  last = std::move(found->second);
  registry().communicators.erase(found);
}

}  // namespace lockstep::emulated_nccl
