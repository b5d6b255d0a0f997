#include "device/block_pool.hpp"

#include <cstring>
#include <vector>

#include "base/philox.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

}  // namespace

TEST_CASE("a block takes the place of smaller ones that lay side by side", "[device]") {
  BlockPool pool;
  constexpr std::size_t kThird = BlockPool::kSegmentBytes - 16 * kMiB;
  const BlockPool::Taken first = pool.take(8 * kMiB), second = pool.take(8 * kMiB), third = pool.take(kThird);
  CHECK(first.bytes_mapped == BlockPool::kSegmentBytes);
  CHECK(second.bytes_mapped == 0);
  CHECK(second.block == first.block + 8 * kMiB);
  pool.give_back(first.block);
  pool.give_back(third.block);
  pool.give_back(second.block);  // joins both neighbours
  const BlockPool::Taken whole = pool.take(BlockPool::kSegmentBytes);
  CHECK(whole.block == first.block);
  CHECK(whole.bytes_mapped == 0);
}

TEST_CASE("the smallest free range that is large enough is cut", "[device]") {
  BlockPool pool;
  std::byte* const small = pool.take(4 * kMiB).block;
  std::byte* const wall = pool.take(1 * kMiB).block;  // the rest of the segment stays free
  pool.give_back(small);
  CHECK(pool.take(3 * kMiB).block == small);
  CHECK(pool.take(1 * kMiB).block == small + 3 * kMiB);
  CHECK(pool.take(1 * kMiB).block == wall + 1 * kMiB);
}

TEST_CASE("segments are never joined, and are unmapped when nothing lies in them", "[device]") {
  BlockPool pool;
  std::vector<std::byte*> blocks;
  for (int index = 0; index < 8; ++index) {
    const BlockPool::Taken taken = pool.take(BlockPool::kSegmentBytes);
    CHECK(taken.bytes_mapped == BlockPool::kSegmentBytes);
    blocks.push_back(taken.block);
  }
  for (std::byte* const block : blocks) pool.give_back(block);
  std::byte* const kept = pool.take(1 * kMiB).block;
  CHECK(pool.release_unused() == 7 * BlockPool::kSegmentBytes);
  std::memset(kept, 1, kMiB);
  pool.give_back(kept);
  CHECK(pool.release_unused() == BlockPool::kSegmentBytes);
  CHECK(pool.release_unused() == 0);
}

TEST_CASE("free ranges beside a block give their memory back", "[device]") {
  BlockPool pool;
  std::byte* const kept = pool.take(1 * kMiB).block;
  std::byte* const freed = pool.take(4 * kMiB).block;
  std::memset(kept, 7, kMiB);
  std::memset(freed, 7, 4 * kMiB);
  pool.give_back(freed);
  CHECK(pool.release_unused() == 0);
  std::byte* const again = pool.take(4 * kMiB).block;
  CHECK(again == freed);
  CHECK(again[0] == std::byte{0});  // new pages
  CHECK(again[4 * kMiB - 1] == std::byte{0});
  CHECK(kept[0] == std::byte{7});
  CHECK(kept[kMiB - 1] == std::byte{7});
}

TEST_CASE("blocks in use never overlap, in any order of taking and giving back", "[device]") {
  struct Block {
    std::byte* data;
    std::size_t bytes;
    unsigned char mark;
  };
  BlockPool pool;
  std::vector<Block> blocks;
  const auto is_intact = [](const Block& block) {
    return block.data[0] == std::byte{block.mark} && block.data[block.bytes - 1] == std::byte{block.mark} &&
           block.data[block.bytes / 2] == std::byte{block.mark};
  };
  std::size_t mapped = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    const auto random = philox4x32(round, 7, 0);
    if (blocks.size() > 20 || (random[0] % 2 == 0 && !blocks.empty())) {
      const std::size_t index = random[1] % blocks.size();
      REQUIRE(is_intact(blocks[index]));
      pool.give_back(blocks[index].data);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      const std::size_t bytes = kMiB + random[2] % (6 * kMiB);
      const BlockPool::Taken taken = pool.take(bytes);
      mapped += taken.bytes_mapped;
      const auto mark = static_cast<unsigned char>(round);
      for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) taken.block[at] = std::byte{mark};
      blocks.push_back({taken.block, bytes, mark});
    }
  }
  for (const Block& block : blocks) {
    CHECK(is_intact(block));
    pool.give_back(block.data);
  }
  CHECK(pool.release_unused() == mapped);
}
