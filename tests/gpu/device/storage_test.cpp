#include "device/storage.hpp"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/memory_limit.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("blocks are aligned, distinct and as large as asked", "[device]") {
  std::vector<std::shared_ptr<Storage>> blocks;
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 1000, 4097, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    blocks.push_back(Storage::allocate(bytes));
    CHECK(blocks.back()->bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()->data()) % 64 == 0);
    std::memset(blocks.back()->data(), static_cast<int>(blocks.size()), bytes);
  }
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    for (std::size_t byte = 0; byte < blocks[index]->bytes(); byte += 61) {
      REQUIRE(static_cast<std::size_t>(blocks[index]->data()[byte]) == index + 1);
    }
  }
}

TEST_CASE("a freed block is taken up again without asking the system", "[device]") {
  const std::size_t bytes = 3'000'000;
  std::byte* const first = Storage::allocate(bytes)->data();
  const AllocatorStatistics before = allocator_statistics();
  for (int step = 0; step < 10; ++step) CHECK(Storage::allocate(bytes - step)->data() == first);
  const AllocatorStatistics after = allocator_statistics();
  CHECK(after.system_allocations == before.system_allocations);
  CHECK(after.bytes_in_use == before.bytes_in_use);
  CHECK(after.bytes_cached == before.bytes_cached);
}

TEST_CASE("statistics follow allocation and release", "[device]") {
  release_cached_memory();
  reset_peak();
  const std::size_t in_use = allocator_statistics().bytes_in_use;
  {
    const auto block = Storage::allocate(16 << 20);
    CHECK(allocator_statistics().bytes_in_use == in_use + (16 << 20));
  }
  CHECK(allocator_statistics().bytes_in_use == in_use);
  CHECK(allocator_statistics().peak_bytes_in_use == in_use + (16 << 20));
  const std::size_t cached = allocator_statistics().bytes_cached;
  release_cached_memory();
  CHECK(allocator_statistics().bytes_cached + (16 << 20) <= cached);
}

TEST_CASE("more bytes than any memory has are refused, and harm nothing", "[device]") {
  static_cast<void>(Storage::allocate(16 << 20));  // leaves a free block
  const std::size_t in_use = allocator_statistics().bytes_in_use;
  for (const std::size_t below_zero : {std::size_t{1}, std::size_t{1} << 20}) {
    CHECK_THROWS_AS(Storage::allocate(std::size_t{0} - below_zero), OutOfMemoryError);
  }
  CHECK(allocator_statistics().bytes_in_use == in_use);
  const auto one = Storage::allocate(16 << 20), other = Storage::allocate(16 << 20);
  CHECK(one->data() != other->data());
}

TEST_CASE("wrapped memory lives as long as its storage", "[device]") {
  auto owner = std::make_shared<std::vector<std::byte>>(100);
  const std::weak_ptr<std::vector<std::byte>> watch = owner;
  auto storage = Storage::wrap(owner->data(), owner->size(), {}, owner);
  owner.reset();
  CHECK_FALSE(watch.expired());
  storage.reset();
  CHECK(watch.expired());
}

TEST_CASE("a device that this build lacks is refused by name", "[device]") {
  CHECK_THROWS_WITH(Storage::allocate(8, {DeviceType::kCuda, 1}), ContainsSubstring("cuda:1"));
}

TEST_CASE("threads share the allocator", "[device]") {
  std::vector<int> damaged(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&damaged, thread] {
        for (std::size_t round = 1; round < 300; ++round) {
          const auto block = Storage::allocate(round * 37);
          std::memset(block->data(), thread, block->bytes());
          for (std::size_t byte = 0; byte < block->bytes(); ++byte) {
            damaged[static_cast<std::size_t>(thread)] += static_cast<int>(block->data()[byte]) != thread;
          }
        }
      });
    }
  }
  CHECK(damaged == std::vector<int>(4, 0));
}
