#pragma once
// Programs as courses write them: each PROGRAM is one, with kernels of its own before it, and returns whether its
// numbers are right.
#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "../planted/suite.cuh"

namespace courses {

struct Program {
  const char* name;
  bool (*run)();
};

// All of them, in the order of the sources.
std::vector<Program>& programs();

struct Registered {
  Registered(const char* name, bool (*run)()) { programs().push_back({name, run}); }
};

inline int blocks_for(int count, int threads) { return (count + threads - 1) / threads; }

template <typename T>
bool is_equal(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!suite::is_close(static_cast<double>(a[i]), static_cast<double>(b[i]))) return false;
  }
  return true;
}

}  // namespace courses

#define PROGRAM(name)                                               \
  static bool name();                                               \
  static const courses::Registered registered_##name(#name, &name); \
  static bool name()
