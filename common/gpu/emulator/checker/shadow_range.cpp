#include "emulator/checker/shadow_range.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace lockstep::emulator::checker {

void ShadowRange::Release::operator()(std::uintptr_t* table) const noexcept { std::free(table); }

// calloc, because its zeros cost nothing until touched: the table spans all memory of all devices.
ShadowRange::ShadowRange(const std::byte* begin, std::size_t bytes)
    : begin_(begin),
      bytes_(bytes),
      chunks_(static_cast<std::uintptr_t*>(std::calloc(bytes / kChunkBytes + 1, sizeof(std::uintptr_t)))) {
  if (chunks_ == nullptr) throw std::bad_alloc();
}

ShadowRange::~ShadowRange() {
  for (std::size_t i = 0; i <= bytes_ / kChunkBytes; ++i) {
    if (chunks_[i] > kWritten) drop_chunk(i, kUnwritten);
  }
}

ShadowRange::Chunk& ShadowRange::make_chunk(std::size_t index) {
  auto chunk = std::make_unique<Chunk>();
  if (chunks_[index] == kWritten) {
    for (Cell& cell : chunk->cells) cell.write.interval = kHostInterval;
  }
  chunks_[index] = reinterpret_cast<std::uintptr_t>(chunk.get());
  return *chunk.release();
}

void ShadowRange::drop_chunk(std::size_t index, std::uintptr_t entry) noexcept {
  if (chunks_[index] > kWritten) const std::unique_ptr<Chunk> owned(reinterpret_cast<Chunk*>(chunks_[index]));
  chunks_[index] = entry;
}

ShadowRange::Parts& ShadowRange::split(Chunk& chunk, std::size_t index) {
  if (chunk.parts == nullptr) chunk.parts = std::make_unique<std::array<Parts, kCells>>();
  Parts& parts = (*chunk.parts)[index];
  if (!is_split(chunk.cells[index])) parts.fill(chunk.cells[index]);
  chunk.cells[index].write.interval = kSplit;
  return parts;
}

// One cell is enough again once a single access has written all four bytes.
void ShadowRange::join(Chunk& chunk, std::size_t index) noexcept {
  const Parts& parts = (*chunk.parts)[index];
  const auto is_like_first = [&](const Cell& part) {
    return part.write.interval == parts[0].write.interval && part.write.clock == parts[0].write.clock &&
           part.write.packed == parts[0].write.packed && part.read.interval == 0 && part.other.interval == 0;
  };
  if (!std::all_of(parts.begin(), parts.end(), is_like_first)) return;
  chunk.cells[index] = parts[0];
}

void ShadowRange::set_written(std::size_t offset, std::size_t count) { set_all(offset, count, true); }
void ShadowRange::set_unwritten(std::size_t offset, std::size_t count) { set_all(offset, count, false); }

void ShadowRange::forget_order() {
  const auto forget = [](Cell& cell) {
    const bool is_written = cell.write.interval != 0;
    cell = {};
    if (is_written) cell.write.interval = kHostInterval;
  };
  for (std::size_t i = 0; i <= bytes_ / kChunkBytes; ++i) {
    if (chunks_[i] <= kWritten) continue;
    Chunk& chunk = *reinterpret_cast<Chunk*>(chunks_[i]);
    for (std::size_t index = 0; index < kCells; ++index) {
      if (is_split(chunk.cells[index])) {
        std::ranges::for_each((*chunk.parts)[index], forget);
      } else {
        forget(chunk.cells[index]);
      }
    }
  }
}

void ShadowRange::set_all(std::size_t offset, std::size_t count, bool is_written) {
  const std::uintptr_t entry = is_written ? kWritten : kUnwritten;
  Cell fresh;
  if (is_written) fresh.write.interval = kHostInterval;
  for (const std::size_t end = offset + count; offset < end;) {
    const std::size_t index = offset / kChunkBytes;
    const std::size_t here = std::min(end, (index + 1) * kChunkBytes) - offset;
    if (here == kChunkBytes) {
      drop_chunk(index, entry);
    } else if (chunks_[index] != entry) {
      for_each_cell(offset, here, [&](Cell& cell) { cell = fresh; });
    }
    offset += here;
  }
}

}  // namespace lockstep::emulator::checker
