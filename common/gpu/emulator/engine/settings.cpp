#include "emulator/engine/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <numeric>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::emulator {
namespace {

constexpr std::size_t kDefaultDeviceBytes = std::size_t{8} << 30;

std::int64_t read_int(const std::string& name, std::int64_t minimum, std::int64_t maximum, std::int64_t otherwise) {
  try {
    return environment::get_int(name, minimum, maximum).value_or(otherwise);
  } catch (const FormatError& error) {
    std::cerr << "emulated device: " << error.what() << "; " << otherwise << " is used\n";
    return otherwise;
  }
}

Settings read_settings() {
  Settings read;
  read.is_checked = environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0";
  read.machine_devices = static_cast<int>(read_int("LOCKSTEP_EMULATOR_DEVICES", 0, kMaxDevices, 1));
  read.device_bytes = static_cast<std::size_t>(
      read_int("LOCKSTEP_EMULATOR_MEMORY", 1 << 16, std::int64_t{1} << 36, std::int64_t{kDefaultDeviceBytes}));
  read.delays_seed = static_cast<std::uint64_t>(read_int("LOCKSTEP_EMULATOR_DELAYS", 0, std::int64_t{1} << 62, 0));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  read.order_seed = static_cast<std::uint64_t>(read_int("LOCKSTEP_EMULATOR_SEED", 0, kMost, 0));
  // Unset means all devices; set but empty means none. environment::get does not distinguish these.
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    read.visible = parse_visible_devices(visible, read.machine_devices);
  } else {
    read.visible.resize(static_cast<std::size_t>(read.machine_devices));
    std::iota(read.visible.begin(), read.visible.end(), 0);
  }
  return read;
}

}  // namespace

const Settings& settings() {
  static const Settings kSettings = read_settings();
  return kSettings;
}

std::vector<int> parse_visible_devices(const std::string& text, int machine_devices) {
  std::vector<int> visible;
  std::istringstream fields(text);
  for (std::string field; std::getline(fields, field, ',');) {
    char* end = nullptr;
    const long number = std::strtol(field.c_str(), &end, 10);
    if (end == field.c_str() || number < 0 || number >= machine_devices) break;
    if (std::find(visible.begin(), visible.end(), number) != visible.end()) return {};
    visible.push_back(static_cast<int>(number));
  }
  return visible;
}

}  // namespace lockstep::emulator
