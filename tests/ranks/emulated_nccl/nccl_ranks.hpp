#pragma once
/// @file
/// Ranks of a communicator as threads of a test, each with an emulated device of its own.
#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::test {

/// Before the first call of CUDA.
inline const bool kHasEightDevices = ::setenv("LOCKSTEP_EMULATOR_DEVICES", "8", 1) == 0;

/// Throws with the code's text unless the call succeeded.
inline void ok(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error(std::string("NCCL: ") + ncclGetLastError(nullptr));
}
inline void ok(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(result));
}
/// Throws with `text` unless `condition` holds: ranks never call Catch2's macros.
inline void expect(bool condition, const std::string& text) {
  if (!condition) throw std::runtime_error(text);
}

/// Asks `is_done` until it says so. @return  Whether it did within some seconds.
inline bool eventually(const std::function<bool()>& is_done) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!is_done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// Elements on the current device.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : count_(values.size()) {
    ok(cudaMalloc(&data_, (count_ + 1) * sizeof(T)));
    ok(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  [[nodiscard]] T* data() const noexcept { return data_; }
  /// Their values once `stream` is done.
  [[nodiscard]] std::vector<T> values(cudaStream_t stream) const {
    std::vector<T> copy(count_);
    ok(cudaMemcpyAsync(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost, stream));
    ok(cudaStreamSynchronize(stream));
    return copy;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// A rank's communicator and a stream of its device.
struct NcclRank {
  int rank = 0;
  int size = 1;
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

/// A configuration of communicators whose calls do not wait.
inline ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

/// The status of a communicator once nothing of it is in progress.
inline ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  expect(eventually([&] {
           ok(ncclCommGetAsyncError(comm, &state));
           return state != ncclInProgress;
         }),
         "a call stayed in progress");
  return state;
}

/// Runs `body` once per rank on device `rank`, before there is a communicator. @return  What went wrong, by rank.
inline std::vector<std::string> run_devices(int size, const std::function<void(NcclRank&)>& body) {
  ncclUniqueId id{};
  ok(ncclGetUniqueId(&id));
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        NcclRank own{rank, size, id};
        ok(cudaSetDevice(rank));
        ok(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
        body(own);
        ok(cudaStreamDestroy(own.stream));
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  threads.clear();  // joins
  return errors;
}

/// As run_devices(), with a communicator of all ranks, which is destroyed after `body` unless that has set it to null.
inline std::vector<std::string> run_nccl_ranks(int size, const std::function<void(NcclRank&)>& body) {
  return run_devices(size, [&](NcclRank& own) {
    ok(ncclCommInitRank(&own.comm, own.size, own.id, own.rank));
    body(own);
    if (own.comm != nullptr) ok(ncclCommDestroy(own.comm));
  });
}

/// That nothing went wrong anywhere.
inline std::vector<std::string> no_errors(int size) { return std::vector<std::string>(static_cast<std::size_t>(size)); }

}  // namespace lockstep::test
