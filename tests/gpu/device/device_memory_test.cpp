// Device memory and pinned memory come from a caching allocator, which the emulator's checker switches off.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"
#include "device/device_allocator.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/stream_gate.hpp"

using namespace lockstep;

namespace {

// The emulator's checker gives every allocation memory of its own.
void require_caching() {
  if (environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0")
    test::skip("no blocks are kept under the checker");
}

// Memory of this process that is in use now.
std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a freed device block is taken up again by its stream and by no other", "[device][gpu]") {
  const Device device = test::accelerator();
  require_caching();
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{3} << 20}) {  // part of a chunk, and on its own
    std::byte* const first = Storage::allocate(bytes, device)->data();
    CHECK(Storage::allocate(bytes, device)->data() == first);
    const Stream stream(device);
    const StreamGuard guard(stream);
    CHECK(Storage::allocate(bytes, device)->data() != first);
  }
}

TEST_CASE("a block that another stream uses is reused only when that stream is done", "[device][gpu]") {
  const Device device = test::accelerator();
  constexpr std::size_t kBytes = 4 << 20;
  const auto host = Storage::allocate_pinned(kBytes, device);
  // Copies that take the reader a while; each of its blocks is written again as soon as the allocator lets go of it.
  for (int round = 1; round <= 10; ++round) {
    const Stream reader(device);
    const auto copied = Storage::allocate(kBytes, device);
    {
      const auto block = Storage::allocate(kBytes, device);
      std::memset(host->data(), round, kBytes);
      copy_memory({block->data(), device}, {host->data(), Device{}}, kBytes);
      reader.wait(current_stream(device));
      for (int times = 0; times < 5; ++times) copy_memory_async(copied->data(), block->data(), kBytes, reader);
      block->record_use(reader);
    }
    const auto next = Storage::allocate(kBytes, device);
    zero_memory({next->data(), device}, kBytes);
    reader.synchronize();
    std::vector<std::byte> seen(kBytes);
    copy_memory({seen.data(), Device{}}, {copied->data(), device}, kBytes);
    REQUIRE(seen == std::vector<std::byte>(kBytes, std::byte(round)));
  }
}

// CUDA gives the handle of a destroyed stream to the next one, which knows nothing of the work of the first.
TEST_CASE("what an ended stream works on goes to another stream only when it is done", "[device][gpu]") {
  const Device device = test::accelerator();
  require_caching();
  for (const std::size_t bytes : {std::size_t{700}, std::size_t{5} << 20}) {  // part of a chunk, and on its own
    std::optional<Stream> first(std::in_place, device);
    std::byte *freed_before = nullptr, *freed_after = nullptr;
    std::shared_ptr<Storage> in_use;
    {
      const StreamGuard guard(*first);
      in_use = Storage::allocate(bytes, device);
      freed_before = Storage::allocate(bytes, device)->data();
    }
    test::StreamGate gate(*first);
    first.reset();
    freed_after = in_use->data();
    in_use.reset();

    const Stream second(device);
    const StreamGuard guard(second);
    const auto is_old = [&](const auto& block) {
      return block->data() == freed_before || block->data() == freed_after;
    };
    const auto early = Storage::allocate(bytes, device), early_too = Storage::allocate(bytes, device);
    CHECK_FALSE(is_old(early));
    CHECK_FALSE(is_old(early_too));
    gate.open();
    synchronize(device);  // waits for the event too that the stream's end left behind its work
    const auto late = Storage::allocate(bytes, device), late_too = Storage::allocate(bytes, device);
    CHECK(is_old(late));
    CHECK(is_old(late_too));
  }
}

TEST_CASE("memory of an ended stream that others still use waits for them too", "[device][gpu]") {
  const Device device = test::accelerator();
  require_caching();
  constexpr std::size_t kBytes = 6 << 20;
  const Stream reader(device);
  std::optional<Stream> maker(std::in_place, device);
  std::shared_ptr<Storage> block;
  {
    const StreamGuard guard(*maker);
    block = Storage::allocate(kBytes, device);
  }
  maker.reset();
  const Stream next(device);  // its handle is the maker's
  test::StreamGate gate(next);
  block->record_use(next);
  std::byte* const data = block->data();
  block.reset();
  const StreamGuard guard(reader);
  const auto early = Storage::allocate(kBytes, device);
  CHECK(early->data() != data);
  gate.open();
  synchronize(device);
  CHECK(Storage::allocate(kBytes, device)->data() == data);
}

TEST_CASE("device statistics follow allocation and release", "[device][gpu]") {
  const Device device = test::accelerator();
  const std::size_t in_use = allocator_statistics(device).bytes_in_use;
  reset_peak(device);
  {
    const auto block = Storage::allocate(4 << 20, device);
    CHECK(allocator_statistics(device).bytes_in_use == in_use + (4 << 20));
  }
  CHECK(allocator_statistics(device).bytes_in_use == in_use);
  CHECK(allocator_statistics(device).peak_bytes_in_use == in_use + (4 << 20));
  require_caching();
  CHECK(allocator_statistics(device).bytes_cached >= 4 << 20);
  const std::size_t asked = allocator_statistics(device).system_allocations;
  { const auto again = Storage::allocate(4 << 20, device); }
  CHECK(allocator_statistics(device).system_allocations == asked);
  synchronize(device);  // what other tests have left is released, too, once the device is done with it
  release_cached_memory(device);
  CHECK(allocator_statistics(device).bytes_cached < 4 << 20);
}

TEST_CASE("pinned memory that a copy still reads is not handed out again", "[device][gpu]") {
  const Device device = test::accelerator();
  constexpr std::size_t kBytes = 1 << 20;
  const auto there = Storage::allocate(kBytes, device);
  const Stream stream(device);
  for (int round = 1; round <= 20; ++round) {
    {
      const auto staging = Storage::allocate_pinned(kBytes, device);
      std::memset(staging->data(), round, kBytes);
      copy_memory_async(there->data(), staging->data(), kBytes, stream);
      staging->record_use(stream);
    }
    std::memset(Storage::allocate_pinned(kBytes, device)->data(), 0xFF, kBytes);  // the next user's bytes
    stream.synchronize();
    std::vector<std::byte> seen(kBytes);
    copy_memory({seen.data(), Device{}}, {there->data(), device}, kBytes);
    REQUIRE(seen == std::vector<std::byte>(kBytes, std::byte(round)));
  }
}

TEST_CASE("pinned memory that a failed copy still writes is not handed out again", "[device][gpu]") {
  const Device device = test::accelerator();
  require_caching();
  constexpr std::size_t kChunk = std::size_t{4} << 20;  // of a copy to the host: the second finds no memory
  DeviceAllocator& pinned = DeviceAllocator::of(device, DeviceAllocator::Kind::kPinned);
  const auto there = Storage::allocate(2 * kChunk, device);
  zero_memory({there->data(), device}, 2 * kChunk);
  synchronize(device);
  pinned.release_cached();
  std::vector<std::byte> values(2 * kChunk);
  const Stream stream(device);
  test::StreamGate gate(stream);
  pinned.set_limit({.bytes = pinned.statistics().bytes_in_use + kChunk, .who = {}});
  {
    const StreamGuard guard(stream);
    CHECK_THROWS_AS(copy_memory({values.data(), Device{}}, {there->data(), device}, 2 * kChunk), OutOfMemoryError);
  }
  pinned.set_limit({});
  const auto next = Storage::allocate_pinned(kChunk, device);
  std::memset(next->data(), 0xFF, kChunk);
  gate.open();
  stream.synchronize();
  CHECK(std::all_of(next->data(), next->data() + kChunk, [](std::byte each) { return each == std::byte{0xFF}; }));
}

TEST_CASE("a block that a stream uses in every step of a long run remembers the last use only", "[device][gpu]") {
#ifdef __SANITIZE_ADDRESS__
  test::skip("the address sanitizer keeps memory that is freed");
#endif
  const Device device = test::accelerator();
  const auto block = Storage::allocate(1000, device);
  const Stream stream(device);
  const auto use_often = [&](int steps) {
    for (int step = 1; step <= steps; ++step) {
      block->record_use(stream);
      if (step % 500 == 0) stream.synchronize();
    }
  };
  use_often(1000);
  const std::size_t before = resident_bytes();
  use_often(40'000);
  const std::size_t after = resident_bytes();
  CHECK(after < before + (std::size_t{5} << 20));
}

TEST_CASE("a device refuses more bytes than any memory has", "[device][gpu]") {
  const Device device = test::accelerator();
  CHECK_THROWS_AS(Storage::allocate(~std::size_t{0}, device), OutOfMemoryError);
  CHECK_THROWS_AS(Storage::allocate_pinned(~std::size_t{0}, device), OutOfMemoryError);
}

TEST_CASE("a large copy to a device takes two pinned blocks, however far the host is ahead", "[device][gpu]") {
  const Device device = test::accelerator();
  require_caching();
  constexpr std::size_t kBytes = std::size_t{40} << 20;
  DeviceAllocator& pinned = DeviceAllocator::of(device, DeviceAllocator::Kind::kPinned);
  synchronize(device);
  pinned.release_cached();
  std::vector<std::byte> values(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) values[i] = std::byte(i * 7 >> 10);
  const auto there = Storage::allocate(kBytes, device);
  const Stream stream(device);
  const auto taken = [&, before = pinned.statistics().system_allocations] {
    return pinned.statistics().system_allocations - before;
  };
  {
    std::atomic<bool> is_done = false;
    test::StreamGate gate(stream);
    const std::jthread copier([&] {
      const StreamGuard guard(stream);
      copy_memory({there->data(), device}, {values.data(), Device{}}, kBytes);
      is_done = true;
    });
    while (taken() < 2) std::this_thread::yield();
    for (int wait = 0; wait < 100 && !is_done; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gate.open();
  }
  CHECK(taken() == 2);
  std::vector<std::byte> seen(kBytes);
  const StreamGuard guard(stream);
  copy_memory({seen.data(), Device{}}, {there->data(), device}, kBytes);
  CHECK(seen == values);
}
