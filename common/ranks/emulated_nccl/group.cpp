#include "emulated_nccl/group.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "emulated_nccl/enqueue.hpp"
#include "emulated_nccl/failure.hpp"
#include "emulated_nccl/registry.hpp"

namespace lockstep::emulated_nccl {
namespace {

struct Joining {
  const char* call;
  std::shared_ptr<Communicator> owner;
  std::shared_ptr<Communicator> communicator;  // null: the rank joins no part
  std::function<void()> body;
  ncclComm_t* handle;
};

struct Pending {
  std::shared_ptr<Communicator> communicator;
  std::vector<Operation> operations;
};

struct Group {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;  // the first failure of a call inside the group
  std::vector<Joining> joinings;
  std::vector<Pending> pending;  // by communicator
};

thread_local Group group;

ncclResult_t launch(const Pending& pending) {
  require_paired_with_self(pending.operations, pending.communicator->own().rank);
  return pending.communicator->perform("handing operations to a stream",
                                       [pending] { enqueue(pending.communicator, pending.operations); });
}

// The result of a joining that has ended.
ncclResult_t judge(const Joining& joining) {
  if (!joining.communicator) return ncclSuccess;
  const ncclResult_t status = joining.communicator->status();
  if (status == ncclSuccess) return ncclSuccess;
  remove_handle(*joining.handle);
  *joining.handle = nullptr;
  throw NcclError(status, joining.communicator->message());
}

ncclResult_t run(const Joining& joining) {
  const ncclResult_t result = joining.owner->perform(joining.call, joining.body);
  return result == ncclInProgress ? result : judge(joining);
}

// Ranks of one thread wait for each other, so each joins on a separate thread.
ncclResult_t run_all(const std::vector<Joining>& joinings) {
  std::vector<ncclResult_t> results(joinings.size(), ncclSuccess);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < joinings.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = nccl_call(joinings[i].call, [&] { return run(joinings[i]); }); });
  }
  for (std::thread& thread : threads) thread.join();
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](ncclResult_t one) { return one != ncclSuccess && one != ncclInProgress; });
  if (failed != results.end()) return *failed;
  return std::count(results.begin(), results.end(), ncclInProgress) > 0 ? ncclInProgress : ncclSuccess;
}

void require_acceptable(const Communicator& communicator, const Operation& operation) {
  communicator.require_open();
  require_valid(communicator, operation);
  const bool is_alone_with_itself = group.depth == 0 && !is_collective(operation.kind);
  if (is_alone_with_itself) require_paired_with_self({&operation, 1}, communicator.own().rank);
}

Pending& pending_of(const std::shared_ptr<Communicator>& communicator) {
  for (Pending& pending : group.pending) {
    if (pending.communicator == communicator) return pending;
  }
  return group.pending.emplace_back(Pending{communicator, {}});
}

}  // namespace

void start_group() { ++group.depth; }

ncclResult_t end_group() {
  nccl_require(group.depth > 0, ncclInvalidUsage, "there is no ncclGroupStart() before it");
  if (--group.depth > 0) return ncclSuccess;
  const Group asked = std::exchange(group, {});
  if (asked.failure != ncclSuccess) {
    for (const Joining& joining : asked.joinings) {
      if (joining.communicator) remove_handle(std::exchange(*joining.handle, nullptr));
    }
    throw NcclError(asked.failure, concat("a call of the group failed, so nothing of it is done: ", last_error()));
  }
  ncclResult_t result = run_all(asked.joinings);
  if (result != ncclSuccess && result != ncclInProgress) return result;
  for (const Pending& pending : asked.pending) {
    if (launch(pending) == ncclInProgress) result = ncclInProgress;
  }
  return result;
}

void fail_group(ncclResult_t code) noexcept {
  if (group.depth > 0 && group.failure == ncclSuccess) group.failure = code;
}

ncclResult_t submit(ncclComm_t handle, const Operation& operation) {
  std::shared_ptr<Communicator> communicator;
  try {
    communicator = communicator_of(handle);
    require_acceptable(*communicator, operation);
  } catch (const NcclError& error) {
    fail_group(error.code());
    // As in NCCL, an invalid call on a non-blocking communicator becomes its status.
    if (communicator && !communicator->is_blocking()) communicator->fail(error.code(), error.what());
    throw;
  }
  if (is_collective(operation.kind) && operation.count == 0) return ncclSuccess;
  if (group.depth == 0) return launch({communicator, {operation}});
  pending_of(communicator).operations.push_back(operation);
  return ncclSuccess;
}

ncclResult_t submit_joining(const char* call, const std::shared_ptr<Communicator>& owner,
                            const std::shared_ptr<Communicator>& communicator, std::function<void()> joining,
                            ncclComm_t* handle) {
  *handle = nullptr;
  if (communicator) {
    communicator->begin_joining();
    *handle = add_handle(communicator);
  }
  const Joining asked{call, owner, communicator, std::move(joining), handle};
  if (group.depth == 0) return run(asked);
  group.joinings.push_back(asked);
  return ncclSuccess;
}

}  // namespace lockstep::emulated_nccl
