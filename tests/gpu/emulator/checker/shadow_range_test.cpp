#include "emulator/checker/shadow_range.hpp"

#include "support/catch.hpp"

using namespace lockstep::emulator::checker;

namespace {

constexpr std::size_t kBytes = 3 * ShadowRange::kChunkBytes;

// Marks the cells of an access, so that another look finds who was there.
void mark(ShadowRange& range, std::size_t offset, std::size_t count, Interval interval) {
  range.for_each_cell(offset, count, [&](Cell& cell) {
    cell = {};
    cell.write.interval = interval;
  });
}

std::vector<Interval> marks(ShadowRange& range, std::size_t offset, std::size_t count) {
  std::vector<Interval> found;
  range.for_each_cell(offset, count, [&](Cell& cell) { found.push_back(cell.write.interval); });
  return found;
}

}  // namespace

TEST_CASE("Four bytes share a cell until an access covers a part of them", "[emulator]") {
  alignas(16) static std::byte memory[kBytes];
  ShadowRange range(memory, kBytes);
  mark(range, 8, 4, 5);
  CHECK(marks(range, 8, 4) == std::vector<Interval>{5});
  mark(range, 10, 1, 6);
  CHECK(marks(range, 8, 4) == std::vector<Interval>{5, 5, 6, 5});
  CHECK(marks(range, 9, 2) == std::vector<Interval>{5, 6});
  mark(range, 8, 4, 7);
  CHECK(marks(range, 8, 4) == std::vector<Interval>{7});
}

TEST_CASE("An access finds all of its cells, across chunks and off the grid of four", "[emulator]") {
  alignas(16) static std::byte memory[kBytes];
  ShadowRange range(memory, kBytes);
  CHECK(marks(range, 0, 16).size() == 4);
  CHECK(marks(range, ShadowRange::kChunkBytes - 6, 12).size() == 2 + 1 + 1 + 2);
  mark(range, ShadowRange::kChunkBytes - 2, 4, 9);
  CHECK(marks(range, ShadowRange::kChunkBytes - 4, 8) == std::vector<Interval>{0, 0, 9, 9, 9, 9, 0, 0});
}

TEST_CASE("What the host writes or forgets covers exactly its bytes", "[emulator]") {
  alignas(16) static std::byte memory[kBytes];
  ShadowRange range(memory, kBytes);
  range.set_written(2, kBytes - 4);
  CHECK(marks(range, 0, 4) == std::vector<Interval>{0, 0, kHostInterval, kHostInterval});
  CHECK(marks(range, ShadowRange::kChunkBytes + 100, 4) == std::vector<Interval>{kHostInterval});
  CHECK(marks(range, kBytes - 4, 4) == std::vector<Interval>{kHostInterval, kHostInterval, 0, 0});
  mark(range, ShadowRange::kChunkBytes + 100, 4, 44);
  range.set_unwritten(ShadowRange::kChunkBytes, ShadowRange::kChunkBytes);
  CHECK(marks(range, ShadowRange::kChunkBytes + 100, 4) == std::vector<Interval>{0});
  CHECK(marks(range, ShadowRange::kChunkBytes - 4, 4) == std::vector<Interval>{kHostInterval});
}
