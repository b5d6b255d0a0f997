#include "emulator/checker/metrics_counter.hpp"

#include <tuple>

#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::checker;

namespace {

// Lane i asks for `bytes` at address(i).
template <typename Address>
Request request(std::uint32_t bytes, const Address& address) {
  Request made;
  made.mask = ~0U;
  made.bytes = bytes;
  for (std::uintptr_t lane = 0; lane < 32; ++lane) made.addresses[lane] = 4096 + address(lane);
  return made;
}

ThreadState thread(std::uint32_t linear) {
  ThreadState state;
  state.linear = linear;
  state.warp = linear / 32;
  state.lane = linear % 32;
  return state;
}

}  // namespace

TEST_CASE("Neighbours share sectors of 32 bytes, and strides do not", "[emulator]") {
  const RequestCost neighbours = sectors_of(request(4, [](std::uintptr_t lane) { return lane * 4; }));
  CHECK(neighbours.transactions == 4);
  CHECK(neighbours.ideal == 4);
  const RequestCost shifted = sectors_of(request(4, [](std::uintptr_t lane) { return lane * 4 + 4; }));
  CHECK(shifted.transactions == 5);
  CHECK(shifted.ideal == 4);
  const RequestCost strided = sectors_of(request(4, [](std::uintptr_t lane) { return lane * 32; }));
  CHECK(strided.transactions == 32);
  CHECK(strided.ideal == 4);
  const RequestCost same = sectors_of(request(4, [](std::uintptr_t) { return std::uintptr_t{8}; }));
  CHECK(same.transactions == 1);
  CHECK(same.ideal == 1);
  const RequestCost vectors = sectors_of(request(16, [](std::uintptr_t lane) { return lane * 16; }));
  CHECK(vectors.transactions == 16);
  CHECK(vectors.ideal == 16);
}

TEST_CASE("Different words of one bank take a pass each, and the same word is served to all at once", "[emulator]") {
  const auto passes = [](std::uint32_t bytes, std::uintptr_t stride) {
    return passes_of(request(bytes, [stride](std::uintptr_t lane) { return lane * stride; })).transactions;
  };
  CHECK(passes(4, 4) == 1);
  CHECK(passes(4, 0) == 1);
  CHECK(passes(4, 8) == 2);
  CHECK(passes(4, 128) == 32);
  CHECK(passes(4, 132) == 1);
  CHECK(passes(2, 2) == 1);
  CHECK(passes(8, 8) == 2);    // half warps
  CHECK(passes(16, 16) == 4);  // quarter warps
  CHECK(passes(16, 128) == 32);
}

TEST_CASE("The k-th execution of an instruction by a warp's lanes is one request, in whatever order lanes run",
          "[emulator]") {
  MetricsCounter counter;
  counter.block_begin("kernel", 40);
  alignas(32) static float memory[64];
  const Access load = Access::make(5, 1, 70000, kPlainRead, 0);
  for (std::uint32_t linear = 40; linear-- > 0;) {
    for (int k = 0; k < 3; ++k) counter.count(thread(linear), load, &memory[linear], 4, true);
  }
  counter.count(thread(7), load, &memory[7], 4, true);  // a fourth time, alone
  counter.block_end();
  REQUIRE(counter.totals().size() == 1);
  const InstructionTotals& totals = counter.totals().begin()->second;
  CHECK(totals.requests == 2 * 3 + 1);
  CHECK(totals.lanes == 40 * 3 + 1);
  CHECK(totals.transactions == 3 * (4 + 1) + 1);
}

// CUDA C++ Programming Guide, "Synchronization Functions": __syncthreads() "waits until all threads in the thread block
// have reached this point", so no access before it shares a transaction with one after it.
TEST_CASE("Lanes on different sides of a barrier share no request", "[emulator]") {
  MetricsCounter counter;
  counter.block_begin("kernel", 32);
  alignas(32) static float memory[64];
  const Access load = Access::make(5, 1, 70000, kPlainRead, 0);
  counter.count(thread(0), load, &memory[0], 4, true);
  counter.count_barrier(80000);
  for (std::uint32_t lane = 1; lane < 32; ++lane) counter.count(thread(lane), load, &memory[lane], 4, true);
  counter.count_barrier(80000);
  for (std::uint32_t lane = 0; lane < 32; ++lane) counter.count(thread(lane), load, &memory[lane], 4, true);
  counter.block_end();
  InstructionTotals loads;
  for (const auto& [key, totals] : counter.totals()) {
    if (std::get<Operation>(key) == Operation::kLoad) loads = totals;
  }
  CHECK(loads.requests == 1 + 1 + 1);
  CHECK(loads.lanes == 1 + 31 + 32);
  CHECK(loads.transactions == 1 + 4 + 4);
}
