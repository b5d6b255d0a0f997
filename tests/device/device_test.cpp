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

TEST_CASE("this build runs the CPU and says so of nothing else", "[device]") {
  CHECK(Device{}.is_available());
  CHECK_FALSE(Device{DeviceType::kCuda, 0}.is_available());
  CHECK_FALSE(Device{DeviceType::kCpu, 1}.is_available());
}
