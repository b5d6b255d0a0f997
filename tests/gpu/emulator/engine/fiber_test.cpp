// A program without Catch2, so that it can be compiled for another processor and with each way to switch.
#include "emulator/engine/fiber.hpp"

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

using lockstep::emulator::FiberContext;

constexpr int kFibers = 5, kRounds = 100;

FiberContext main_context;
FiberContext contexts[kFibers];
int current = 0;
long sums[kFibers];
double real_sums[kFibers];
bool is_aligned = true;
bool has_caught[kFibers];

void yield_to_next() {
  const int self = current;
  current = (self + 1) % kFibers;
  lockstep::emulator::switch_fiber(contexts[self], contexts[current]);
}

/// More values than there are scratch registers live across each switch, whole and real.
void body() {
  const int self = current;
  alignas(16) char aligned[16];
  if (reinterpret_cast<std::uintptr_t>(aligned) % 16 != 0) is_aligned = false;
  long a = self, b = 2, c = 3, d = 4, e = 5, f = 6;
  double x = self + 0.5, y = 0.25, z = 2.0;
  for (int round = 0; round < kRounds; ++round) {
    yield_to_next();
    a += b, b += c, c ^= d, d += e, e += f, f += a & 3;
    x += y, y += z, z *= 0.5;
  }
  try {
    yield_to_next();
    throw std::runtime_error("on a fiber");
  } catch (const std::runtime_error&) {
    has_caught[self] = true;
  }
  sums[self] = a + b + c + d + e + f;
  real_sums[self] = x + y + z;
}

void entry() {
  const int self = current;
  body();
  if (self + 1 < kFibers) {  // they end in order
    current = self + 1;
    lockstep::emulator::switch_fiber(contexts[self], contexts[current]);
  }
  lockstep::emulator::switch_fiber(contexts[self], main_context);
}

long expected_sum(int self) {
  long a = self, b = 2, c = 3, d = 4, e = 5, f = 6;
  for (int round = 0; round < kRounds; ++round) a += b, b += c, c ^= d, d += e, e += f, f += a & 3;
  return a + b + c + d + e + f;
}

double expected_real_sum(int self) {
  double x = self + 0.5, y = 0.25, z = 2.0;
  for (int round = 0; round < kRounds; ++round) x += y, y += z, z *= 0.5;
  return x + y + z;
}

}  // namespace

int main() {
  std::vector<std::vector<std::byte>> stacks(kFibers, std::vector<std::byte>(128 * 1024));
  for (int fiber = 0; fiber < kFibers; ++fiber)
    lockstep::emulator::prepare_fiber(contexts[fiber], stacks[fiber], &entry);
  lockstep::emulator::switch_fiber(main_context, contexts[0]);
  int wrong = is_aligned ? 0 : 1;
  for (int fiber = 0; fiber < kFibers; ++fiber) {
    if (sums[fiber] != expected_sum(fiber) || real_sums[fiber] != expected_real_sum(fiber) || !has_caught[fiber])
      ++wrong;
  }
  std::printf("fibers: %d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
