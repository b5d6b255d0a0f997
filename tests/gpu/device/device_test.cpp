#include "device/device.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "device/cuda_check.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

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

// Not run by itself: the test below does.
TEST_CASE("needs a device", "[.]") {
  const Device device = test::accelerator();
  CHECK(device.is_available());
}
TEST_CASE("fails 77 times", "[.]") {
  for (int i = 0; i < 77; ++i) CHECK(i < 0);
}

TEST_CASE("a test without its device is skipped, or fails if LOCKSTEP_REQUIRE_GPU says that there is one", "[device]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto run_hidden = [&](const std::string& name, const std::string& is_required) {
    return test::run_program({self, name}, {{"CUDA_VISIBLE_DEVICES", "-1"}, {"LOCKSTEP_REQUIRE_GPU", is_required}});
  };
  const auto is_failure = [](int status) { return status != 0 && status != test::kSkipped; };  // Catch2 3: always 42
  for (const char* not_required : {"", "0"}) {
    const test::Finished skipped = run_hidden("needs a device", not_required);
    CHECK(skipped.exit_code == test::kSkipped);
    CHECK_THAT(skipped.err, ContainsSubstring("skipped: device "));
  }
  const test::Finished failed = run_hidden("needs a device", "1");
  CHECK(is_failure(failed.exit_code));
  CHECK_THAT(failed.out, ContainsSubstring("LOCKSTEP_REQUIRE_GPU is set, but this test finds no device"));
  CHECK(is_failure(run_hidden("fails 77 times", "1").exit_code));  // as many failures as the status of a skip
}

TEST_CASE("an error that a kernel has caused says how to find the kernel", "[device]") {
  for (const cudaError_t status : {cudaErrorIllegalAddress, cudaErrorMisalignedAddress, cudaErrorAssert,
                                   cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorLaunchFailure}) {
    CHECK_THROWS_WITH(cuda_check(status, "copying"),
                      ContainsSubstring("copying failed at ") && ContainsSubstring("an earlier kernel did it"));
  }
  CHECK_THROWS_WITH(cuda_check(cudaErrorInvalidValue, "copying"), !ContainsSubstring("an earlier kernel"));
}
