#include "03_nccl/nccl_process_group.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "comm/control/control_plane.hpp"
#include "comm/reduce.hpp"
#include "device/copy.hpp"
#include "store/store.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/collective_elements.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using comm::JobContext;
using comm::ReduceOp;

namespace {

constexpr int kMostRanks = 8;

// Ranks are threads of this process, each with a device of its own. Before anything asks for devices.
const bool kHasEightDevices = ::setenv("LOCKSTEP_EMULATOR_DEVICES", "8", 1) == 0;

// Of a machine with fewer GPUs the tests are skipped: ranks that share one must be processes of their own.
const test::GroupFactory& nccl_groups() {
  static const test::GroupFactory factory = [] {
    if (Device::count(test::accelerator().type) < kMostRanks) test::skip(concat("fewer than ", kMostRanks, " devices"));
    return [](JobContext context) { return nccl::make_nccl_process_group(std::move(context)); };
  }();
  return factory;
}

// Holds calls of ncclCommAbort() back while it is closed.
class Gate {
 public:
  void close() { set(true); }
  void open() { set(false); }
  void pass() {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !is_closed_; });
  }
  void wait_until_entered() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return entered_ > 0; });
  }

 private:
  void set(bool is_closed) {
    const std::scoped_lock lock(mutex_);
    is_closed_ = is_closed;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  int entered_ = 0;
} abort_gate;

std::vector<float> on_host(const Storage& storage, const Stream& stream) {
  stream.synchronize();
  std::vector<float> values(storage.bytes() / sizeof(float));
  copy_memory({values.data(), Device{}}, {storage.data(), storage.device()}, storage.bytes());
  return values;
}

comm::Buffer buffer_on(const std::shared_ptr<Storage>& storage) {
  return {storage->data(), static_cast<std::int64_t>(storage->bytes() / sizeof(float)), DType::kFloat32,
          storage->device(), storage};
}

}  // namespace

// The linker's --wrap sends the group's calls here.
extern "C" ncclResult_t __real_ncclCommAbort(ncclComm_t communicator);
extern "C" ncclResult_t __wrap_ncclCommAbort(ncclComm_t communicator);
ncclResult_t __wrap_ncclCommAbort(ncclComm_t communicator) {
  abort_gate.pass();
  return __real_ncclCommAbort(communicator);
}

TEST_CASE("NCCL reduces every dtype and operation correctly at every world size", "[nccl][chapter][multirank]") {
  test::check_all_reduce(nccl_groups(), 100003);
}
TEST_CASE("NCCL's look-alike repeats bit for bit", "[nccl][chapter][multirank]") {
  test::check_bits_repeat(nccl_groups());
}
TEST_CASE("NCCL broadcasts from every root", "[nccl][chapter][multirank]") { test::check_broadcast(nccl_groups()); }
TEST_CASE("nobody leaves NCCL's barrier before the last has entered", "[nccl][chapter][multirank]") {
  test::check_barrier(nccl_groups());
}
TEST_CASE("NCCL runs collectives in issue order", "[nccl][chapter][multirank]") {
  test::check_issue_order(nccl_groups());
}
TEST_CASE("a Work of NCCL keeps host memory alive until the collective is done, and no longer",
          "[nccl][chapter][multirank]") {
  const test::GroupFactory& make_group = nccl_groups();
  const auto released = test::run_ranks_for<int>(2, [&make_group](JobContext context) {
    const auto group = make_group(std::move(context));
    auto memory = std::make_shared<std::vector<std::int64_t>>(100, 1);
    const std::weak_ptr<void> watched = memory;
    comm::Buffer buffer = comm::host_buffer(std::span(*memory));
    buffer.keep_alive = std::move(memory);
    comm::Work work = group->all_reduce(std::move(buffer));
    const bool was_kept = !watched.expired();  // asked first: it may be done at any moment
    const bool is_kept_while_pending = was_kept || work.is_completed();
    work.synchronize();
    return is_kept_while_pending && watched.expired() ? 1 : 0;
  });
  CHECK(released == std::vector<int>{1, 1});
}
TEST_CASE("NCCL's other collectives are right for every dtype, operation, root and count",
          "[nccl][chapter][multirank]") {
  // Without 4 and 8 ranks, a third of the time: calls of the look-alike are slow.
  test::check_every_collective(nccl_groups(), {1, 2, 3, 5});
}
TEST_CASE("NCCL works in place", "[nccl][chapter][multirank]") { test::check_in_place(nccl_groups()); }
TEST_CASE("grouped calls of NCCL move at the same time", "[nccl][chapter][multirank]") {
  test::check_grouped_calls(nccl_groups());
}
TEST_CASE("a call of a group of NCCL's gathers the mean of the call before it, not its sum",
          "[nccl][chapter][multirank]") {
  const auto results = test::run_ranks_for<std::vector<float>>(2, [](JobContext context) {
    const auto group = nccl_groups()(std::move(context));
    std::vector<float> mean(3, group->rank() == 0 ? 2 : 4), gathered(6);
    group->group_start();
    group->all_reduce(comm::host_buffer(std::span(mean)), ReduceOp::kMean);
    group->all_gather(comm::host_buffer(std::span(gathered)), comm::host_buffer(std::span(mean)));
    group->group_end().synchronize();
    return gathered;
  });
  for (const auto& gathered : results) CHECK(gathered == std::vector<float>(6, 3));
}
TEST_CASE("grouped calls of NCCL that share one of several buffers run one after the other",
          "[nccl][chapter][multirank]") {
  const auto results = test::run_ranks_for<std::vector<std::int64_t>>(2, [](JobContext context) {
    const auto group = nccl_groups()(std::move(context));
    std::vector<std::int64_t> before{1}, after{1}, other{1};
    const auto buffer_of = [](std::vector<std::int64_t>& values) { return comm::host_buffer(std::span(values)); };
    const std::array several{buffer_of(before), buffer_of(after), buffer_of(other)};
    group->group_start();
    group->all_reduce(buffer_of(before));
    group->all_reduce_coalesced(several);
    group->all_reduce(buffer_of(after));
    group->group_end().synchronize();
    return std::vector<std::int64_t>{before[0], after[0], other[0]};
  });
  for (const auto& values : results) CHECK(values == std::vector<std::int64_t>{4, 4, 2});
}
TEST_CASE("a grouped call of NCCL sees what the one before it has done to a part of its host memory",
          "[nccl][chapter][multirank]") {
  const auto results = test::run_ranks_for<std::vector<std::int64_t>>(2, [](JobContext context) {
    const auto group = nccl_groups()(std::move(context));
    std::vector<std::int64_t> values{1, 1, 1, 1};
    group->group_start();
    group->all_reduce(comm::host_buffer(std::span(values).first(2)));
    group->all_reduce(comm::host_buffer(std::span(values)));
    group->group_end().synchronize();
    return values;
  });
  for (const auto& values : results) CHECK(values == std::vector<std::int64_t>{4, 4, 2, 2});
}
TEST_CASE("grouped calls of NCCL whose host buffers overlap run one after the other", "[nccl][chapter][multirank]") {
  const auto results = test::run_ranks_for<std::vector<std::int64_t>>(2, [](JobContext context) {
    const auto group = nccl_groups()(std::move(context));
    std::vector<std::int64_t> values(7, 1);
    group->group_start();
    group->all_reduce(comm::host_buffer(std::span(values).subspan(2, 3)));
    group->all_reduce(comm::host_buffer(std::span(values).first(3)));
    group->all_reduce(comm::host_buffer(std::span(values).subspan(4, 2)));
    group->group_end().synchronize();
    return values;
  });
  for (const auto& values : results) CHECK(values == std::vector<std::int64_t>{2, 2, 4, 2, 4, 2, 1});
}
TEST_CASE("NCCL reduces several buffers as one", "[nccl][chapter][multirank]") { test::check_coalesced(nccl_groups()); }
TEST_CASE("a group of NCCL's splits into groups", "[nccl][chapter][multirank]") { test::check_split(nccl_groups()); }
TEST_CASE("groups split from NCCL groups do not interfere", "[nccl][chapter][multirank]") {
  test::check_nested_splits(nccl_groups());
}
TEST_CASE("NCCL moves objects", "[nccl][chapter][multirank]") { test::check_objects(nccl_groups()); }
TEST_CASE("deferred calls of NCCL run in time", "[nccl][chapter][multirank]") { test::check_deferred(nccl_groups()); }

TEST_CASE("ranks that call different things through NCCL are told who did what", "[nccl][chapter][multirank]") {
  test::check_mismatches(nccl_groups());
  test::check_mismatches_of_every_collective(nccl_groups());
}
TEST_CASE("ranks that make the same NCCL call with different tags are told so", "[nccl][chapter][multirank]") {
  test::check_tags(nccl_groups());
}
TEST_CASE("an NCCL group refuses at once the dtypes that no group reduces", "[nccl][chapter][multirank]") {
  test::check_irreducible(nccl_groups());
}
TEST_CASE("a rank that dies is named on all ranks of NCCL", "[nccl][chapter][multirank]") {
  test::check_death(nccl_groups());
}
TEST_CASE("a collective of NCCL ends at its deadline", "[nccl][chapter][multirank]") {
  test::check_deadline(nccl_groups());
}
TEST_CASE("when rank 0 has left, those who wait for it in NCCL are told so", "[nccl][chapter][multirank]") {
  test::check_rank_0_leaves(nccl_groups(), /*names_peer=*/false);
}

TEST_CASE("device memory is reduced in the order of streams, without waiting on the host",
          "[nccl][chapter][multirank]") {
  const auto results = test::run_ranks_for<std::vector<float>>(3, [](JobContext context) {
    const auto group = nccl_groups()(std::move(context));
    const Device device = dynamic_cast<nccl::NcclProcessGroup&>(*group).device();
    make_current(device);
    const Stream compute(device);
    const StreamGuard guard(compute);
    const auto values = Storage::allocate(5000 * sizeof(float), device);
    std::vector<float> own(5000, static_cast<float>(1 << (3 * group->rank())));
    copy_memory({values->data(), device}, {own.data(), Device{}}, values->bytes());
    comm::Work work = group->all_reduce(buffer_on(values));
    Stream reader(device);
    work.wait(reader);
    const auto copy = Storage::allocate(values->bytes(), device);
    copy_memory_async(copy->data(), values->data(), values->bytes(), reader);
    std::vector<float> seen = on_host(*copy, reader);
    work.synchronize();
    return seen;
  });
  for (const auto& values : results) CHECK(values == std::vector<float>(5000, 1 + 8 + 64));
}

TEST_CASE("an abort that NCCL takes long for keeps nobody from hearing why the job has failed",
          "[nccl][chapter][multirank]") {
  std::array<bool, 2> was_told{};
  const auto outcomes = test::run_ranks(2, [&](JobContext context) {
    const int rank = context.rank;
    const auto control = context.control;
    const auto group = nccl_groups()(std::move(context));
    group->barrier().synchronize();
    // Told after the group, which aborts its communicator.
    std::atomic<bool> is_told = false;
    const int subscription = control->subscribe([&](const comm::Failure&) { is_told = true; });
    if (rank == 1) group->context().store->set("rank 1 listens", "");
    if (rank == 0) {
      (void)group->context().store->get("rank 1 listens", Deadline::after(std::chrono::seconds(10)));
      abort_gate.close();
      control->abort({comm::FailureKind::kAborted, 0, "rank 0 has other plans"});
    }
    for (const auto limit = Deadline::after(std::chrono::seconds(10)); !is_told && !limit.has_expired();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    was_told[static_cast<std::size_t>(rank)] = is_told;
    if (is_told) abort_gate.wait_until_entered();
    abort_gate.open();
    control->unsubscribe(subscription);
  });
  CHECK(was_told == std::array<bool, 2>{true, true});
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
}

TEST_CASE("an NCCL group outlives another thread's question whether the ranks agree", "[nccl][chapter][multirank]") {
  (void)nccl_groups();
  bool has_thrown = false, was_destroyed_before = false;
  const auto outcomes = test::run_ranks(2, [&](JobContext context) {
    const auto control = context.control;
    const auto store = context.store;
    if (context.rank == 1) {
      (void)store->get("rank 0 destroys its group", Deadline::after(std::chrono::seconds(10)));
      return control->abort({comm::FailureKind::kAborted, 1, "rank 1 has other plans"});
    }
    // NCCL runs a group of this rank alone; the control plane compares its calls with rank 1's, which makes none.
    context.world_size = 1;
    auto group = nccl_groups()(std::move(context));
    std::vector<float> values(10, 1);
    comm::Work work = group->all_reduce(comm::host_buffer(std::span(values)));
    while (!work.is_completed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<bool> is_destroyed = false;
    std::thread asking([&] {
      try {
        work.synchronize();  // without the group, if that is already gone
      } catch (const std::exception&) {
        has_thrown = true;
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // to let it ask
    std::thread destroying([&] {
      group.reset();
      is_destroyed = true;
    });
    for (const auto limit = Deadline::after(std::chrono::milliseconds(300)); !is_destroyed && !limit.has_expired();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    was_destroyed_before = is_destroyed;
    store->set("rank 0 destroys its group", "");
    asking.join();
    destroying.join();
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
  CHECK_FALSE((has_thrown && was_destroyed_before));  // thrown by the group
}

TEST_CASE("two ranks with the same device are an error that names them", "[nccl][chapter][multirank]") {
  (void)nccl_groups();
  const auto outcomes = test::run_ranks(3, [](JobContext context) {
    const Device device{accelerator_type(), context.rank == 2 ? 1 : context.rank};
    (void)nccl::make_nccl_process_group(std::move(context), {.device = device});
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<UsageError>());
    CHECK_THAT(outcome.message(),
               ContainsSubstring("ranks 1, 2 have the same GPU") && ContainsSubstring("--share-gpu"));
  }
}

TEST_CASE("a device that does not exist is said to be missing", "[nccl][chapter]") {
  (void)nccl_groups();
  const nccl::NcclOptions options{.device = {accelerator_type(), 99}};
  const JobContext alone;
  CHECK_THROWS_AS(nccl::make_nccl_process_group(alone, options), UnavailableError);
}
