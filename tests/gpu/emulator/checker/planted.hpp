#pragma once
/// @file
/// Kernels with and without bugs, compiled with the checker's hooks.
#include <cuda_runtime.h>

#include <functional>
#include <string>
#include <vector>

namespace lockstep::emulator::test {

/// Device memory for one launch: kCount elements each, written with zeros unless it says otherwise.
struct Buffers {
  static constexpr int kCount = 1024;  ///< Elements.
  float* floats = nullptr;
  float* fresh = nullptr;  ///< Never written.
  int* ints = nullptr;
  int* zero_ints = nullptr;
  unsigned* zero = nullptr;
  unsigned short* shorts = nullptr;
  float* freed = nullptr;       ///< After cudaFree.
  const float* host = nullptr;  ///< Of the host, which no kernel can reach.
};

/// A launch to check.
struct Planted {
  std::string name;
  std::function<void(const Buffers&)> launch;
};

inline namespace checked {
/// All of them.
const std::vector<Planted>& planted();
}  // namespace checked

}  // namespace lockstep::emulator::test
