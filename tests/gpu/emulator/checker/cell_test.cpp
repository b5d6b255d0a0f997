#include "emulator/checker/cell.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace lockstep::emulator::checker;

namespace {

// One cell of a memory, and the threads that use it.
class Memory {
 public:
  explicit Memory(bool is_shared = false) : is_shared_(is_shared) {
    order_.launch_begin();
    order_.block_begin(0, 128);
  }
  Problem access(std::uint32_t thread, std::uint64_t flags) {
    const Access access = order_.now(thread, 70000 + thread, flags);
    return CellRules(order_, access, is_shared_).visit(cell_).problem;
  }
  HappensBefore& order() { return order_; }
  Cell& cell() { return cell_; }

 private:
  bool is_shared_;
  HappensBefore order_;
  Cell cell_;
};

}  // namespace

TEST_CASE("Memory that nobody wrote is uninitialised, until somebody writes it", "[emulator]") {
  Memory memory;
  CHECK(memory.access(0, kPlainRead) == Problem::kUninitialised);
  CHECK(memory.access(0, kWrite) == Problem::kNone);
  CHECK(memory.access(0, kPlainRead) == Problem::kNone);
}

TEST_CASE("What the host wrote is initialised and ordered before every launch", "[emulator]") {
  Memory memory;
  memory.cell().write.interval = kHostInterval;
  CHECK(memory.access(0, kPlainRead) == Problem::kNone);
  CHECK(memory.access(0, kWrite) == Problem::kNone);
}

TEST_CASE("Shared memory that an earlier block wrote is uninitialised, and global memory is not", "[emulator]") {
  Memory shared(true);
  CHECK(shared.access(0, kWrite) == Problem::kNone);
  shared.order().block_begin(1, 128);
  CHECK(shared.access(0, kPlainRead) == Problem::kUninitialised);
  Memory global(false);
  CHECK(global.access(0, kWrite) == Problem::kNone);
  global.order().block_begin(1, 128);
  CHECK(global.access(0, kPlainRead) == Problem::kRace);
  global.order().launch_begin();
  global.order().block_begin(0, 128);
  CHECK(global.access(0, kPlainRead) == Problem::kNone);
}

TEST_CASE("A write races with any earlier unordered reader, not only with the last", "[emulator]") {
  for (const std::uint32_t writer : {0U, 31U, 33U, 64U}) {
    Memory memory;
    memory.cell().write.interval = kHostInterval;
    for (const std::uint32_t reader : {0U, 31U, 33U}) CHECK(memory.access(reader, kPlainRead) == Problem::kNone);
    CHECK(memory.access(writer, kWrite) == Problem::kRace);
  }
}

TEST_CASE("A block that wrote what another block had read before it races, though it read it itself in between",
          "[emulator]") {
  Memory memory;
  memory.cell().write.interval = kHostInterval;
  CHECK(memory.access(5, kPlainRead) == Problem::kNone);
  memory.order().block_begin(1, 128);
  CHECK(memory.access(0, kPlainRead) == Problem::kNone);
  CHECK(memory.access(1, kPlainRead) == Problem::kNone);
  memory.order().barrier();
  CHECK(memory.access(0, kWrite) == Problem::kRace);
}

TEST_CASE("Atomics never race with each other, but with every plain access that nothing orders", "[emulator]") {
  Memory memory;
  memory.cell().write.interval = kHostInterval;
  for (const std::uint32_t thread : {0U, 1U, 40U}) CHECK(memory.access(thread, kAtomic | kWrite) == Problem::kNone);
  // Thread 40 was the last: its own atomic is ordered before its read, those of the others are not.
  CHECK(memory.access(40, kPlainRead) == Problem::kRace);
  memory.order().barrier();
  CHECK(memory.access(7, kPlainRead) == Problem::kNone);
  CHECK(memory.access(8, kAtomic | kWrite) == Problem::kRace);
}

TEST_CASE("What counts last after fences may set the counter back, and without one fence it races", "[emulator]") {
  for (const bool all_fence : {true, false}) {
    Memory counter;
    counter.cell().write.interval = kHostInterval;
    for (const std::uint64_t block : {0U, 1U, 2U}) {
      counter.order().block_begin(block, 128);
      const bool has_fence = all_fence || block != 0;
      CHECK(counter.access(0, kAtomic | kWrite | (has_fence ? kReleased : kPlainRead)) == Problem::kNone);
    }
    CHECK(counter.access(0, kWrite) == (all_fence ? Problem::kNone : Problem::kRace));
    counter.order().block_begin(3, 128);
    CHECK(counter.access(0, kWrite) == Problem::kRace);  // this block has not counted
  }
}

TEST_CASE("An atomic reads too, so memory must be initialised, but an atomic store does not", "[emulator]") {
  Memory memory;
  CHECK(memory.access(0, kAtomic | kWrite) == Problem::kUninitialised);
  Memory stored;
  CHECK(stored.access(0, kAtomic | kWrite | kStoreOnly) == Problem::kNone);
}

TEST_CASE("Nobody may read what an asynchronous copy still writes, not even who asked for it", "[emulator]") {
  Memory memory(true);
  CHECK(memory.access(0, kWrite | kPending) == Problem::kNone);
  CHECK(memory.access(0, kPlainRead) == Problem::kNotLanded);
  CHECK(memory.access(0, kWrite) == Problem::kNone);
  CHECK(memory.access(0, kPlainRead) == Problem::kNone);
  CHECK(memory.access(1, kPlainRead) == Problem::kRace);
}

TEST_CASE("A reader of shared memory is kept though readers of an earlier block were", "[emulator]") {
  Memory shared(true);
  for (const std::uint64_t block : {0U, 1U}) {
    shared.order().block_begin(block, 128);
    CHECK(shared.access(0, kWrite) == Problem::kNone);
    shared.order().barrier();
    CHECK(shared.access(0, kPlainRead) == Problem::kNone);
    CHECK(shared.access(40, kPlainRead) == Problem::kNone);
    CHECK(shared.access(41, kPlainRead) == Problem::kNone);
  }
  CHECK(shared.access(41, kWrite) == Problem::kRace);  // with the read by thread 0
}

TEST_CASE("Of many readers, one of another block or warp is kept for the next writer", "[emulator]") {
  Memory global;
  global.cell().write.interval = kHostInterval;
  CHECK(global.access(3, kPlainRead) == Problem::kNone);
  global.order().block_begin(1, 128);
  for (const std::uint32_t thread : {5U, 40U, 6U, 7U}) CHECK(global.access(thread, kPlainRead) == Problem::kNone);
  CHECK(global.access(7, kWrite) == Problem::kRace);  // with the read of block 0
}

// A compare-and-swap that fails only reads.
TEST_CASE("Atomics that only read do not make the checker forget a plain read", "[emulator]") {
  using Readers = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  for (const Readers& readers : {Readers{{0, kAtomic}, {1, kAtomic}, {2, kPlainRead}, {3, kAtomic}},
                                 Readers{{0, kAtomic}, {32, kAtomic}, {64, kPlainRead}, {65, kAtomic}},
                                 Readers{{0, kPlainRead}, {40, kAtomic}, {1, kAtomic}, {2, kAtomic}}}) {
    Memory memory;
    memory.cell().write.interval = kHostInterval;
    for (const auto& [thread, flags] : readers) CHECK(memory.access(thread, flags) == Problem::kNone);
    CHECK(memory.access(4, kAtomic | kWrite) == Problem::kRace);
  }
  Memory memory;
  memory.cell().write.interval = kHostInterval;
  for (const std::uint32_t thread : {0U, 1U, 40U}) CHECK(memory.access(thread, kAtomic) == Problem::kNone);
  CHECK(memory.access(4, kAtomic | kWrite) == Problem::kNone);
}

TEST_CASE("A launch of another stream races with what a launch has read and written", "[emulator]") {
  Memory memory;
  CHECK(memory.access(0, kWrite) == Problem::kNone);
  const LaunchSpan first{memory.order().launch().first, memory.order().interval()};
  memory.order().launch_begin({first});
  memory.order().block_begin(0, 128);
  CHECK(memory.access(0, kPlainRead) == Problem::kRace);
  memory.order().launch_begin();
  memory.order().block_begin(0, 128);
  CHECK(memory.access(0, kPlainRead) == Problem::kNone);
  const LaunchSpan third{memory.order().launch().first, memory.order().interval()};
  memory.order().launch_begin({third});
  memory.order().block_begin(0, 128);
  CHECK(memory.access(0, kPlainRead) == Problem::kNone);
  CHECK(memory.access(5, kWrite) == Problem::kRace);
}
