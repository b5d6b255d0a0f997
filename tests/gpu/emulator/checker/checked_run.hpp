#pragma once
/// @file
/// Runs planted kernels and finds the lines that their marks name.
#include <cuda_runtime.h>

#include <fstream>
#include <string>

#include "base/error.hpp"
#include "emulator/checker/control.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/engine/execution.hpp"
#include "planted.hpp"

namespace lockstep::emulator::test {

/// The line of planted.cu that ends in "mark: " and the name; 0 without one.
inline unsigned line_of(const std::string& mark) {
  std::ifstream file(LOCKSTEP_PLANTED_FILE);
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string wanted = "// mark: " + mark;
    if (line.size() >= wanted.size() && line.compare(line.size() - wanted.size(), wanted.size(), wanted) == 0)
      return number;
  }
  return 0;
}

/// Device memory of one element type; freed at the end.
template <typename T>
class DeviceArray {
 public:
  /// @param is_written  Filled with zeros, or left as cudaMalloc made it.
  explicit DeviceArray(bool is_written = true) {
    const std::size_t bytes = sizeof(T) * Buffers::kCount;
    if (cudaMalloc(reinterpret_cast<void**>(&data_), bytes) != cudaSuccess) throw Error("cudaMalloc failed");
    if (is_written) static_cast<void>(cudaMemset(data_, 0, bytes));
  }
  ~DeviceArray() { free(); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  void free() {
    if (!is_freed_) static_cast<void>(cudaFree(data_));
    is_freed_ = true;
  }
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  bool is_freed_ = false;
};

/// Checks (and counts) kernels until the end of the scope, quietly.
class CheckedScope {
 public:
  explicit CheckedScope(std::uint64_t seed, bool counts = false) : seed_before_(schedule_seed()) {
    print_findings(false);
    enable_checks(true);
    enable_metrics(counts);
    set_schedule_seed(seed);
    clear_findings();
  }
  ~CheckedScope() {
    set_schedule_seed(seed_before_);
    enable_checks(false);
    enable_metrics(false);
    clear_findings();
  }
  CheckedScope(const CheckedScope&) = delete;
  CheckedScope& operator=(const CheckedScope&) = delete;

 private:
  std::uint64_t seed_before_;
};

/// Launches the planted kernel of that name with memory of its own, and waits for it.
inline void run_planted(const std::string& name) {
  const DeviceArray<float> floats, fresh(false);
  const DeviceArray<int> ints, zero_ints;
  const DeviceArray<unsigned> zero;
  const DeviceArray<unsigned short> shorts;
  DeviceArray<float> freed;
  freed.free();
  const std::vector<float> host(Buffers::kCount);
  const Buffers buffers{floats.data(), fresh.data(),  ints.data(),  zero_ints.data(),
                        zero.data(),   shorts.data(), freed.data(), host.data()};
  for (const Planted& planted : planted()) {
    if (planted.name != name) continue;
    planted.launch(buffers);
    static_cast<void>(cudaDeviceSynchronize());
    return;
  }
  throw Error("no planted kernel is called " + name);
}

}  // namespace lockstep::emulator::test
