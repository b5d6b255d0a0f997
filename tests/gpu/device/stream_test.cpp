#include "device/stream.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "device/copy.hpp"
#include "device/storage.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/stream_gate.hpp"

using namespace lockstep;

namespace {

// Before anything asks for devices.
const bool kHasTwoDevices = ::setenv("LOCKSTEP_EMULATOR_DEVICES", "2", 1) == 0;

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

// What asks the wrong device gets its errors, and a context there.
TEST_CASE("an event is asked about on its own device by a thread that has chosen none", "[device][gpu]") {
  const Device device{test::accelerator().type, 1};
  if (!device.is_available()) test::skip("fewer than 2 devices");
  const Stream stream(device);
  Event begin(device, Event::Timing::kTimed), end(device, Event::Timing::kTimed);
  begin.record(stream);
  end.record(stream);
  const auto device_after = [](const auto& question) {
    int chosen = -1;
    std::thread([&] {
      question();
      cudaGetDevice(&chosen);
    }).join();
    return chosen;
  };
  CHECK(device_after([] {}) == 0);
  CHECK(device_after([&] { end.synchronize(); }) == 1);
  CHECK(device_after([&] { (void)end.is_complete(); }) == 1);
  CHECK(device_after([&] { (void)end.milliseconds_since(begin); }) == 1);
}

TEST_CASE("memory that another device uses is not reused before, and the next is of its own device", "[device][gpu]") {
  const DeviceType type = test::accelerator().type;
  const Device device{type, 0}, reader{type, 1};
  if (!reader.is_available()) test::skip("fewer than 2 devices");
  if (environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0")
    test::skip("no blocks are kept under the checker");
  constexpr std::size_t kBytes = 3 << 20;
  const Stream fresh(reader);
  for (const Stream* const stream : {&current_stream(reader), &fresh}) {
    release_cached_memory(device);  // so that the next blocks come from CUDA
    test::StreamGate gate(*stream);
    auto block = Storage::allocate(kBytes, device);
    const std::byte* const used = block->data();
    block->record_use(*stream);
    block.reset();
    const auto next = Storage::allocate(kBytes, device);  // asks the other device whether it is done
    CHECK(next->data() != used);
    cudaPointerAttributes attributes{};
    CHECK(cudaPointerGetAttributes(&attributes, next->data()) == cudaSuccess);
    CHECK(attributes.device == device.index);
    gate.open();
    stream->synchronize();
  }
}

TEST_CASE("the number of a stream is never another's", "[device][gpu]") {
  const Device device = test::accelerator();
  CHECK(current_stream(device).id() == Stream::kDefaultId);
  std::set<std::uint64_t> numbers{Stream::kDefaultId};
  for (int count = 2; count <= 10; ++count) {
    Stream stream(device);
    const Stream moved = std::move(stream);
    CHECK(numbers.insert(moved.id()).second);
  }
}
