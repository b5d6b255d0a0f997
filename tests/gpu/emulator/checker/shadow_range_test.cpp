#include "emulator/checker/shadow_range.hpp"

#include <utility>
#include <vector>

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

TEST_CASE("A range that forgets the order of accesses remembers what was written", "[emulator]") {
  alignas(16) static std::byte memory[kBytes];
  ShadowRange range(memory, kBytes);
  mark(range, 8, 4, 5);
  mark(range, 10, 1, kLastInterval);
  mark(range, 16, 4, 6);
  mark(range, ShadowRange::kChunkBytes, 4, kHostInterval);
  range.for_each_cell(20, 4, [](Cell& cell) { cell.read.interval = 7; });
  range.forget_order();
  CHECK(marks(range, 8, 4) == std::vector<Interval>(4, kHostInterval));
  CHECK(marks(range, 16, 8) == std::vector<Interval>{kHostInterval, 0});
  CHECK(marks(range, ShadowRange::kChunkBytes, 8) == std::vector<Interval>{kHostInterval, 0});
  range.for_each_cell(20, 4, [](Cell& cell) { CHECK(cell.read.interval == 0); });
  mark(range, 8, 4, 7);
  CHECK(marks(range, 8, 4) == std::vector<Interval>{7});
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

TEST_CASE("The cells that kernels have used are found, split ones byte by byte, and the others are left alone",
          "[emulator]") {
  alignas(16) static std::byte memory[kBytes];
  ShadowRange range(memory, kBytes);
  range.set_written(0, kBytes);
  const std::size_t second = ShadowRange::kChunkBytes;
  mark(range, second + 4, 4, 5);
  mark(range, second + 9, 1, 6);
  std::vector<std::pair<std::size_t, Interval>> found;
  const auto note = [&](const Cell& cell, std::size_t offset) {
    if (cell.write.interval > kHostInterval) found.emplace_back(offset - second, cell.write.interval);
    return true;
  };
  range.for_each_used_cell(0, kBytes, note);
  CHECK(found == std::vector<std::pair<std::size_t, Interval>>{{4, 5}, {9, 6}});
  found.clear();
  range.for_each_used_cell(second + 6, 3, note);  // the last two bytes of the first access, none of the second
  CHECK(found == std::vector<std::pair<std::size_t, Interval>>{{6, 5}});
  int visits = 0;
  range.for_each_used_cell(second, 16, [&](const Cell&, std::size_t) { return ++visits < 2; });
  CHECK(visits == 2);
}
