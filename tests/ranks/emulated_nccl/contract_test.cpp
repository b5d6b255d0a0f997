#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "emulated_nccl/job_thread.hpp"
#include "emulated_nccl/staging.hpp"
#include "nccl_ranks.hpp"
#include "support/catch.hpp"

using namespace lockstep::test;

namespace {

constexpr std::size_t kCount = 1000;

std::vector<float> ones() { return std::vector<float>(kCount, 1.0F); }

ncclResult_t all_reduce(const DeviceArray<float>& array, const NcclRank& own, std::size_t count = kCount) {
  return ncclAllReduce(array.data(), array.data(), count, ncclFloat32, ncclSum, own.comm, own.stream);
}

bool is_done(cudaStream_t stream) {
  const cudaError_t state = cudaStreamQuery(stream);
  expect(state == cudaSuccess || state == cudaErrorNotReady, "the stream failed");
  return state == cudaSuccess;
}

// A hang cannot be waited for: what has not ended after this, about a thousand times what the operation takes, is one.
bool hangs(cudaStream_t stream) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return !is_done(stream);
}

void failing() { throw std::runtime_error("the kernel fails"); }

void init_non_blocking(NcclRank& own) {
  ncclConfig_t config = non_blocking();
  expect(ncclCommInitRankConfig(&own.comm, own.size, own.id, own.rank, &config) == ncclInProgress, "init at once");
  expect(settled(own.comm) == ncclSuccess, "init");
}

}  // namespace

TEST_CASE("without blocking, init returns at once and is in progress until all ranks are there", "[emulated_nccl]") {
  std::barrier first_has_looked(2);
  const auto errors = run_devices(2, [&](NcclRank& own) {
    if (own.rank == 1) first_has_looked.arrive_and_wait();
    ncclConfig_t config = non_blocking();
    const ncclResult_t started = ncclCommInitRankConfig(&own.comm, 2, own.id, own.rank, &config);
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(own.comm, &state);
    int ranks = 0;
    const ncclResult_t counted = ncclCommCount(own.comm, &ranks);
    if (own.rank == 0) first_has_looked.arrive_and_wait();
    expect(started == ncclInProgress && asked == ncclSuccess, "init at once");
    if (own.rank == 0) expect(state == ncclInProgress && counted == ncclInvalidArgument, "in progress");
    expect(settled(own.comm) == ncclSuccess, "init");
    ok(ncclCommCount(own.comm, &ranks));
    expect(ranks == 2, "ranks");
    ok(ncclCommAbort(own.comm));
  });
  CHECK(errors == no_errors(2));
}

TEST_CASE("without blocking, an event recorded before success comes before the operation", "[emulated_nccl]") {
  std::barrier first_has_looked(2);
  const auto errors = run_devices(2, [&](NcclRank& own) {
    init_non_blocking(own);
    const DeviceArray<float> array(ones());
    cudaEvent_t early = nullptr, late = nullptr;
    ok(cudaEventCreate(&early));
    ok(cudaEventCreate(&late));
    if (own.rank == 1) first_has_looked.arrive_and_wait();
    const ncclResult_t started = all_reduce(array, own);
    ok(cudaEventRecord(early, own.stream));
    const bool is_in_order = settled(own.comm) == ncclSuccess;
    ok(cudaEventRecord(late, own.stream));
    ok(cudaEventSynchronize(early));  // although the other rank has not begun
    const cudaError_t late_state = cudaEventQuery(late);
    if (own.rank == 0) first_has_looked.arrive_and_wait();
    expect(started == ncclInProgress && is_in_order, "started");
    if (own.rank == 0) expect(late_state == cudaErrorNotReady, "the late event is behind the operation");
    expect(array.values(own.stream) == std::vector<float>(kCount, 2.0F), "sum");
    expect(ncclCommFinalize(own.comm) == ncclInProgress && settled(own.comm) == ncclSuccess, "finalize");
    expect(all_reduce(array, own) == ncclInvalidUsage, "finalized");
    ok(ncclCommAbort(own.comm));
    ok(cudaEventDestroy(early));
    ok(cudaEventDestroy(late));
  });
  CHECK(errors == no_errors(2));
}

TEST_CASE("without blocking, a group is in progress too, and a second call too early is refused", "[emulated_nccl]") {
  const auto errors = run_devices(3, [&](NcclRank& own) {
    init_non_blocking(own);
    const DeviceArray<float> a(ones()), b(ones());
    ok(ncclGroupStart());
    ok(all_reduce(a, own));
    ok(all_reduce(b, own));
    expect(ncclGroupEnd() == ncclInProgress, "group");
    expect(settled(own.comm) == ncclSuccess, "group");
    expect(a.values(own.stream) == std::vector<float>(kCount, 3.0F), "sum");

    expect(all_reduce(a, own) == ncclInProgress, "first");
    const ncclResult_t second = all_reduce(b, own);
    expect(second == ncclInvalidArgument, "second");
    expect(settled(own.comm) == ncclInvalidArgument, "NCCL keeps the mistake as the communicator's status");
    ok(ncclCommAbort(own.comm));
  });
  CHECK(errors == no_errors(3));
}

TEST_CASE("what waits for a rank that never comes ends by abort from another thread, and the stream goes on",
          "[emulated_nccl]") {
  std::atomic<bool> has_looked{false};
  const auto errors = run_nccl_ranks(2, [&](NcclRank& own) {
    if (own.rank == 1) {
      expect(eventually([&] { return has_looked.load(); }), "rank 0 hangs");
      ok(ncclCommAbort(std::exchange(own.comm, nullptr)));
      return;
    }
    const DeviceArray<float> array(ones());
    ok(all_reduce(array, own));
    ok(all_reduce(array, own));
    ok(cudaMemsetAsync(array.data(), 0, kCount * sizeof(float), own.stream));
    const bool has_hung = hangs(own.stream);
    ncclResult_t state = ncclInProgress;
    ok(ncclCommGetAsyncError(own.comm, &state));
    const ncclComm_t comm = std::exchange(own.comm, nullptr);
    std::thread([comm] { ncclCommAbort(comm); }).join();
    has_looked = true;
    expect(has_hung && state == ncclSuccess, "NCCL does not know how late a peer may be");
    expect(array.values(own.stream) == std::vector<float>(kCount, 0.0F), "the stream goes on");
    expect(ncclCommAbort(comm) == ncclInvalidArgument, "the handle is no longer valid");
  });
  CHECK(errors == no_errors(2));
}

TEST_CASE("when a rank is gone the others hear of it from the async error, while their streams hang until abort",
          "[emulated_nccl]") {
  for (const int size : {2, 3, 5}) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      const DeviceArray<float> array(ones());
      ok(all_reduce(array, own));
      ok(cudaStreamSynchronize(own.stream));
      if (own.rank == size - 1) return ok(ncclCommAbort(std::exchange(own.comm, nullptr)));
      ok(all_reduce(array, own));
      ncclResult_t state = ncclSuccess;
      const bool is_known = eventually([&] {
        ok(ncclCommGetAsyncError(own.comm, &state));
        return state != ncclSuccess;
      });
      const bool has_hung = hangs(own.stream);
      const std::string text = ncclGetLastError(own.comm);
      const ncclResult_t more = all_reduce(array, own);
      const ncclResult_t destroyed = ncclCommDestroy(own.comm);
      ok(ncclCommAbort(std::exchange(own.comm, nullptr)));
      ok(cudaStreamSynchronize(own.stream));
      expect(is_known && state == ncclRemoteError, "async error");
      expect(text.find("rank " + std::to_string(size - 1)) != std::string::npos, "who is gone: " + text);
      expect(has_hung, "the stream hangs");
      expect(more == ncclRemoteError && destroyed == ncclRemoteError, "later calls fail");
    });
    CHECK(errors == no_errors(size));
  }
}

TEST_CASE("a group that a failed device refuses takes no turn: the next one does not wait for it", "[emulated_nccl]") {
  const auto errors = run_devices(1, [](NcclRank& own) {
    ok(ncclCommInitRank(&own.comm, own.size, own.id, own.rank));
    const auto send_nothing = [&] {
      ok(ncclGroupStart());
      ok(ncclSend(nullptr, 0, ncclFloat32, 0, own.comm, own.stream));
      ok(ncclRecv(nullptr, 0, ncclFloat32, 0, own.comm, own.stream));
      return ncclGroupEnd();
    };
    ok(lockstep::emulator::launch_kernel("failing", &failing, {1, 1, 0, own.stream}, {}));
    expect(cudaStreamSynchronize(own.stream) == cudaErrorLaunchFailure, "the kernel");
    expect(send_nothing() == ncclUnhandledCudaError, "on the failed device");
    ok(cudaDeviceReset());
    ok(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
    ok(send_nothing());
    expect(eventually([&] { return is_done(own.stream); }), "the next group waits");
    ok(ncclCommDestroy(own.comm));
  });
  CHECK(errors == no_errors(1));
}

TEST_CASE("staging whose copies are over serves any stream of its device, other staging its own stream",
          "[emulated_nccl]") {
  using lockstep::emulated_nccl::Staging;
  constexpr std::size_t kBytes = std::size_t{3} << 20;  // more than any other test's
  const auto stream = [](std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); };
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  const auto use = [&](std::uintptr_t number, bool is_over) {
    Staging block(0, stream(number), kBytes);
    if (is_over) block.finish();
    return block.bytes().data();
  };
  const std::byte* const first = use(0x70001, true);
  CHECK(use(0x70002, true) == first);
  CHECK(use(0x70003, false) == first);
  const std::byte* const second = use(0x70004, true);  // the copies of 0x70003 may still run
  CHECK(second != first);
  CHECK(use(0x70003, true) == first);
}

// A job owns its communicator, which owns the job's thread.
TEST_CASE("jobs that an aborted communicator no longer runs are not kept", "[emulated_nccl]") {
  const auto owned = std::make_shared<int>(0);
  lockstep::emulated_nccl::JobThread thread;
  thread.cancel();
  thread.post([owned] { ++*owned; });
  thread.close();
  CHECK(owned.use_count() == 1);
  thread.post([owned] { ++*owned; });
  CHECK(owned.use_count() == 1);
  CHECK(*owned == 0);
}

TEST_CASE("ranks that disagree on count or collective hang until abort, and nothing says so", "[emulated_nccl]") {
  for (const bool is_other_collective : {false, true}) {
    std::barrier all_have_looked(2);
    const auto errors = run_nccl_ranks(2, [&](NcclRank& own) {
      const DeviceArray<float> array(ones());
      if (own.rank == 0)
        ok(all_reduce(array, own));
      else if (is_other_collective)
        ok(ncclBcast(array.data(), kCount, ncclFloat32, 0, own.comm, own.stream));
      else
        ok(all_reduce(array, own, kCount - 10));
      const bool has_hung = hangs(own.stream);
      ncclResult_t state = ncclInProgress;
      ok(ncclCommGetAsyncError(own.comm, &state));
      all_have_looked.arrive_and_wait();
      ok(ncclCommAbort(std::exchange(own.comm, nullptr)));
      ok(cudaStreamSynchronize(own.stream));
      expect(has_hung && state == ncclSuccess, "hangs");
    });
    CHECK(errors == no_errors(2));
  }
}

TEST_CASE("split makes parts by color in the order of keys, and leaves out who wants none", "[emulated_nccl]") {
  for (const bool is_blocking : {true, false}) {
    const auto errors = run_devices(5, [&](NcclRank& own) {
      if (is_blocking)
        ok(ncclCommInitRank(&own.comm, own.size, own.id, own.rank));
      else
        init_non_blocking(own);
      // 0, 2 and 3 form a part, the last first; 1 is alone; 4 stays away.
      const int color = own.rank == 4 ? NCCL_SPLIT_NOCOLOR : own.rank == 1 ? 1 : 0;
      NcclRank part = own;
      const ncclResult_t started = ncclCommSplit(own.comm, color, -own.rank, &part.comm, nullptr);
      expect(started == (is_blocking ? ncclSuccess : ncclInProgress), "split");
      expect(settled(own.comm) == ncclSuccess, "split");
      if (own.rank == 4) {
        expect(part.comm == nullptr, "no part");
        return ok(ncclCommAbort(own.comm));
      }
      expect(settled(part.comm) == ncclSuccess, "the part");
      int rank = -1, size = -1;
      ok(ncclCommUserRank(part.comm, &rank));
      ok(ncclCommCount(part.comm, &size));
      expect(size == (color == 1 ? 1 : 3), "size");
      expect(rank == (own.rank == 0 ? 2 : own.rank == 2 ? 1 : 0), "rank");
      const DeviceArray<float> array(ones());
      const ncclResult_t reduced = all_reduce(array, part);
      expect(reduced == ncclSuccess || reduced == ncclInProgress, "reduce");
      expect(settled(part.comm) == ncclSuccess, "reduce");
      expect(array.values(own.stream) == std::vector<float>(kCount, color == 1 ? 1.0F : 3.0F), "sum");
      ok(ncclCommDestroy(part.comm));
      ok(ncclCommDestroy(own.comm));
    });
    CHECK(errors == no_errors(5));
  }
}

// NCCL User Guide, ncclCommGetAsyncError: it "queries the progress and potential errors", so progress must end. In the
// group the split has not begun when its communicator is aborted.
TEST_CASE("a part whose communicator is aborted before the split begins has failed", "[emulated_nccl]") {
  const auto errors = run_devices(1, [&](NcclRank& own) {
    init_non_blocking(own);
    NcclRank part = own;
    ok(ncclGroupStart());
    ok(ncclCommSplit(own.comm, 0, 0, &part.comm, nullptr));
    ok(ncclCommAbort(std::exchange(own.comm, nullptr)));
    expect(ncclGroupEnd() == ncclInProgress, "the group");
    expect(settled(part.comm) == ncclSystemError, "the part has failed");
    const std::string text = ncclGetLastError(nullptr);
    expect(text.find("aborted") != std::string::npos, text);
    ok(ncclCommAbort(part.comm));
  });
  CHECK(errors == no_errors(1));
}

TEST_CASE("two ranks of one process on one device are refused by name on every rank", "[emulated_nccl]") {
  const auto errors = run_devices(3, [&](NcclRank& own) {
    if (own.rank == 2) ok(cudaSetDevice(1));
    const ncclResult_t result = ncclCommInitRank(&own.comm, own.size, own.id, own.rank);
    expect(result == ncclInvalidUsage && own.comm == nullptr, "refused");
    const std::string text = ncclGetLastError(nullptr);
    expect(text.find("Duplicate GPU") != std::string::npos && text.find("ranks 1 and 2") != std::string::npos, text);
    ok(cudaSetDevice(own.rank));
  });
  CHECK(errors == no_errors(3));
}

TEST_CASE("one thread makes communicators of several devices in a group", "[emulated_nccl]") {
  ncclUniqueId id{};
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t comms[3] = {};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (int device = 0; device < 3; ++device) {
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(ncclCommInitRank(&comms[device], 3, id, device) == ncclSuccess);
  }
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  for (int device = 0; device < 3; ++device) {
    int asked = -1;
    CHECK(ncclCommCuDevice(comms[device], &asked) == ncclSuccess);
    CHECK(asked == device);
    CHECK(ncclCommDestroy(comms[device]) == ncclSuccess);
  }
  CHECK(cudaSetDevice(0) == cudaSuccess);
}
