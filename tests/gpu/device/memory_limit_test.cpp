// A limit on memory: what counts, what an allocation beyond it says, and that nothing is left behind.
#include "device/memory_limit.hpp"

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "device/storage.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// A limit for the length of a test, of so much more than is in use.
class Room {
 public:
  explicit Room(std::size_t bytes, Device device = {}, std::string who = "") : device_(device) {
    set_memory_limit(device_, counted_memory(device_).in_use + bytes, std::move(who));
  }
  ~Room() { set_memory_limit(device_, 0); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  Device device_;
};

std::string refusal(std::size_t bytes, Device device = {}) {
  try {
    (void)Storage::allocate(bytes, device);
  } catch (const OutOfMemoryError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an allocation beyond the limit says who asked for how much, for what, and what is in use", "[device]") {
  const Room room(4 * kMebibyte, {}, "rank 3");
  const auto kept = Storage::allocate(3 * kMebibyte);
  const std::size_t in_use = counted_memory().in_use;
  const AllocationPurpose unit("unit ", "h.3");
  const std::string said = refusal(2 * kMebibyte);
  CHECK(said == "out of memory on cpu (rank 3): 2097152 bytes were asked for (unit h.3), " + std::to_string(in_use) +
                    " are in use, and the memory limit allows " + std::to_string(in_use + kMebibyte) +
                    "; try a smaller --batch-size, more --accumulation-steps or --activation-checkpointing");
  CHECK(counted_memory().in_use == in_use);
  {
    const AllocationPurpose moment("moment of ", "wte", MemoryNeed::kOfModel), inner("a copy");
    CHECK_THAT(refusal(2 * kMebibyte), ContainsSubstring("(a copy, for moment of wte, for unit h.3)") &&
                                           ContainsSubstring("; the model itself needs this, whatever the batch"));
  }
  std::string told;
  on_refused_allocation([&told](const std::string& message) { told = message; });
  CHECK(refusal(2 * kMebibyte) == told);
  on_refused_allocation(nullptr);
  CHECK(refusal(kMebibyte).empty());  // which has been freed again
  CHECK(refusal(kMebibyte).empty());
}

TEST_CASE("the limit counts registered memory too, whichever comes first", "[device]") {
  const Room room(4 * kMebibyte);
  const std::size_t before = counted_memory().registered;
  std::optional<RegisteredBytes> registered(std::in_place, 3 * kMebibyte);
  CHECK(counted_memory().registered == before + 3 * kMebibyte);
  CHECK_THAT(refusal(2 * kMebibyte), ContainsSubstring("out of memory on cpu: 2097152 bytes"));
  registered.reset();
  const auto kept = Storage::allocate(2 * kMebibyte);
  CHECK_THROWS_AS(RegisteredBytes(3 * kMebibyte), OutOfMemoryError);
  CHECK(counted_memory().registered == before);
}

TEST_CASE("the peak is that of both kinds together", "[device]") {
  reset_peak();
  const std::size_t before = counted_memory().in_use;
  CHECK(counted_memory().peak == before);
  {
    const RegisteredBytes registered(kMebibyte);
    const auto block = Storage::allocate(2 * kMebibyte);
  }
  const auto later = Storage::allocate(kMebibyte);
  CHECK(counted_memory().peak == before + 3 * kMebibyte);
  CHECK(counted_memory().in_use == before + kMebibyte);
  reset_peak();
  CHECK(counted_memory().peak == before + kMebibyte);
}

TEST_CASE("without a limit nothing is refused, and purposes belong to their thread", "[device]") {
  set_memory_limit({}, 1);
  CHECK_FALSE(refusal(64).empty());
  set_memory_limit({}, 0);
  CHECK(refusal(64).empty());
  CHECK(AllocationPurpose::current().empty());
  const AllocationPurpose outer("unit wte");
  {
    const AllocationPurpose inner("gradient of ", "wte.weight");
    CHECK(AllocationPurpose::current() == "gradient of wte.weight, for unit wte");
    std::string elsewhere = "?";
    std::jthread([&] { elsewhere = AllocationPurpose::current(); }).join();
    CHECK(elsewhere.empty());
  }
  CHECK(AllocationPurpose::current() == "unit wte");
}

TEST_CASE("a device has a limit of its own", "[device][gpu]") {
  const Device device = test::accelerator();
  const Room room(4 * kMebibyte, device);
  const auto kept = Storage::allocate(3 * kMebibyte, device);
  CHECK_THAT(refusal(2 * kMebibyte, device),
             ContainsSubstring("out of memory on " + device.name() + ": 2097152 bytes were asked for"));
  CHECK(refusal(2 * kMebibyte).empty());  // of the host
  CHECK(counted_memory(device).registered == 0);
}
