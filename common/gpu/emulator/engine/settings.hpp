#pragma once
/// @file
/// What the environment says about the emulated machine, read once per process.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::emulator {

/// Most devices that one process may have.
inline constexpr int kMaxDevices = 8;

/// The emulated machine. A value that cannot be read is reported on standard error, and the default holds.
struct Settings {
  bool is_checked = false;        ///< LOCKSTEP_EMULATOR_CHECK is set and not 0.
  int machine_devices = 1;        ///< LOCKSTEP_EMULATOR_DEVICES: devices of the machine.
  std::vector<int> visible;       ///< Their numbers that CUDA_VISIBLE_DEVICES leaves, in its order.
  std::size_t device_bytes = 0;   ///< LOCKSTEP_EMULATOR_MEMORY: memory of a device.
  std::uint64_t delays_seed = 0;  ///< LOCKSTEP_EMULATOR_DELAYS: 0 is issue order without delays.
};

/// The settings of this process.
const Settings& settings();

/// Which devices CUDA_VISIBLE_DEVICES leaves: numbers up to the first that is none or names no device; nothing where a
/// number is repeated. @param text  Its value. @param machine_devices  How many there are.
std::vector<int> parse_visible_devices(const std::string& text, int machine_devices);

}  // namespace lockstep::emulator
