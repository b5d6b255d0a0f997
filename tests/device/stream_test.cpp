#include "device/stream.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "device/copy.hpp"
#include "device/storage.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

std::vector<int> counted(std::size_t count, int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Place place_of(const std::shared_ptr<Storage>& storage) { return {storage->data(), storage->device()}; }

}  // namespace

TEST_CASE("what is copied to a device comes back, whatever the size", "[device][gpu]") {
  const Device device = test::accelerator();
  // Staging works in chunks of 4 MiB: nothing, less, one, one and a bit, several.
  for (const std::size_t count : {0, 1, 1000, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    std::vector<int> values = counted(count, 7);
    const std::size_t bytes = count * sizeof(int);
    const auto there = Storage::allocate(bytes, device), other = Storage::allocate(bytes, device);
    copy_memory(place_of(there), {values.data(), Device{}}, bytes);
    const std::vector<int> expected = values;
    values.assign(count, 0);  // the call has taken what it needs
    copy_memory(place_of(other), place_of(there), bytes);
    copy_memory({values.data(), Device{}}, place_of(other), bytes);
    CHECK(values == expected);
    zero_memory(place_of(other), bytes);
    copy_memory({values.data(), Device{}}, place_of(other), bytes);
    CHECK(values == std::vector<int>(count, 0));
  }
}

TEST_CASE("a stream that waits for an event sees what came before it", "[device][gpu]") {
  const Device device = test::accelerator();
  constexpr std::size_t kBytes = 1 << 20;
  const auto source = Storage::allocate(kBytes, device), result = Storage::allocate(kBytes, device);
  const auto host = Storage::allocate_pinned(kBytes, device);
  for (int round = 1; round <= 20; ++round) {
    std::memset(host->data(), round, kBytes);
    Stream first(device), second(device);
    copy_memory_async(source->data(), host->data(), kBytes, first);
    Event written(device);
    written.record(first);
    second.wait(written);
    copy_memory_async(result->data(), source->data(), kBytes, second);
    second.synchronize();
    CHECK(written.is_complete());
    CHECK(second.is_idle());
    std::vector<std::byte> seen(kBytes);
    copy_memory({seen.data(), Device{}}, place_of(result), kBytes);
    REQUIRE(seen == std::vector<std::byte>(kBytes, std::byte(round)));
  }
}

TEST_CASE("a guard makes a stream current, and its end the one before", "[device][gpu]") {
  const Device device = test::accelerator();
  CHECK(current_stream(device).handle() == nullptr);
  const Stream outer(device), inner(device);
  {
    const StreamGuard use_outer(outer);
    {
      const StreamGuard use_inner(inner);
      CHECK(current_stream(device).handle() == inner.handle());
    }
    CHECK(current_stream(device).handle() == outer.handle());
  }
  CHECK(current_stream(device).handle() == nullptr);
}

TEST_CASE("streams and events of the CPU are never behind", "[device]") {
  const Stream stream;
  Event event;
  event.record(stream);
  stream.wait(event);
  stream.synchronize();
  CHECK(event.is_complete());
  CHECK(stream.is_idle());
}

TEST_CASE("an event marks streams of its own device only", "[device][gpu]") {
  Event event(test::accelerator());
  CHECK_THROWS_AS(event.record(Stream()), ContractError);
}
