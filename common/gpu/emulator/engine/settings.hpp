#pragma once
/// @file
/// The emulated machine as configured by the environment, read once per process.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::emulator {

/// Maximum number of devices per process.
inline constexpr int kMaxDevices = 8;

/// The emulated machine. An invalid value is reported on standard error, and the default is used.
struct Settings {
  bool is_checked = false;        ///< LOCKSTEP_EMULATOR_CHECK is set and not 0.
  int machine_devices = 1;        ///< LOCKSTEP_EMULATOR_DEVICES: number of devices in the machine.
  std::vector<int> visible;       ///< Devices that CUDA_VISIBLE_DEVICES allows, in its order.
  std::size_t device_bytes = 0;   ///< LOCKSTEP_EMULATOR_MEMORY: memory per device.
  std::uint64_t delays_seed = 0;  ///< LOCKSTEP_EMULATOR_DELAYS; 0: issue order without delays.
  std::uint64_t order_seed = 0;   ///< LOCKSTEP_EMULATOR_SEED, of schedule_seed().
};

const Settings& settings();

/// The devices that CUDA_VISIBLE_DEVICES allows: its entries up to the first invalid one; empty if a number is
/// repeated. @param text  Its value. @param machine_devices  Number of devices in the machine.
std::vector<int> parse_visible_devices(const std::string& text, int machine_devices);

}  // namespace lockstep::emulator
