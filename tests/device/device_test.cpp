#include "device/device.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("a device's name parses back to the device", "[device]") {
  for (const Device device : {Device{}, Device{DeviceType::kCuda, 0}, Device{DeviceType::kEmulated, 3}}) {
    CHECK(Device::parse(device.name()) == device);
  }
  CHECK(Device::parse("cuda") == Device{DeviceType::kCuda, 0});
}

TEST_CASE("a text that names no device is an error that lists what is accepted", "[device]") {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cpu:0", "CPU"}) {
    CHECK_THROWS_WITH(Device::parse(text), ContainsSubstring("emulated:<index>"));
    CHECK_THROWS_AS(Device::parse(text), FormatError);
  }
}

TEST_CASE("a build runs the CPU and one other kind of device, and says what would run the third", "[device]") {
  CHECK(Device{}.is_available());
  CHECK_FALSE(Device{DeviceType::kCpu, 1}.is_available());
  const DeviceType ours = accelerator_type();
  const DeviceType other = ours == DeviceType::kCuda ? DeviceType::kEmulated : DeviceType::kCuda;
  CHECK_FALSE(Device{other, 0}.is_available());
  const std::string preset = ours == DeviceType::kCuda ? "LOCKSTEP_PRESET=cpu" : "LOCKSTEP_PRESET=cuda";
  CHECK_THROWS_WITH((Device{other, 0}.require_available()), ContainsSubstring(preset));
  CHECK_THROWS_AS((Device{other, 0}.require_available()), UnavailableError);
}

TEST_CASE("a device beyond those of the machine is refused with their number", "[device]") {
  CHECK_FALSE(Device{accelerator_type(), 1000}.is_available());
  CHECK_THROWS_AS((Device{accelerator_type(), 1000}.require_available()), UnavailableError);
}
