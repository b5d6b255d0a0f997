#include "device/device.hpp"

#include <charconv>

#include "base/error.hpp"
#include "device/cuda_check.hpp"

namespace lockstep {

namespace {

constexpr std::string_view kAccepted = "cpu, cuda, cuda:<index>, emulated, emulated:<index>";

std::string_view name_of(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kEmulated:
      return "emulated";
    case DeviceType::kCuda:
      return "cuda";
  }
  return "unknown";
}

// Without a driver, cudaGetDeviceCount() leaves its argument alone, and only in some versions does its error tell a
// missing driver from a broken one. The driver version, 0 if there is no driver, is the reliable test.
int count_accelerators() noexcept {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

}  // namespace

std::string Device::name() const {
  std::string text(name_of(type));
  if (!is_cpu()) text += ":" + std::to_string(index);
  return text;
}

Device Device::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view type_text = text.substr(0, colon);
  for (const DeviceType type : {DeviceType::kCpu, DeviceType::kEmulated, DeviceType::kCuda}) {
    if (type_text != name_of(type)) continue;
    if (colon == std::string_view::npos) return {type, 0};
    if (type == DeviceType::kCpu) break;  // the CPU has no index
    const std::string_view digits = text.substr(colon + 1);
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() && index >= 0) return {type, index};
  }
  throw FormatError(concat("'", text, "' names no device; accepted are ", kAccepted));
}

Device Device::for_rank(std::string_view text, const RankPlace& place) {
  Device chosen = parse(text);
  const bool is_named = text.find(':') != std::string_view::npos;
  if (chosen.is_cpu() || is_named) return chosen;
  const int there = count(chosen.type);
  const bool may_share = place.share_gpu || chosen.type == DeviceType::kEmulated || there == 0;
  if (place.local_rank >= there && !may_share) {
    // Some schedulers show each rank only its own GPU, as number 0.
    const std::string named =
        there == 1 ? concat(", --device ", name_of(chosen.type), ":0 if each rank sees only its own") : "";
    throw UnavailableError(concat("local rank ", place.local_rank, " has no GPU of its own (there are ", there,
                                  "); start ", there, " ranks", named, ", or give --share-gpu"));
  }
  chosen.index = there == 0 ? 0 : place.local_rank % there;
  return chosen;
}

int Device::count(DeviceType type) noexcept {
  if (type == DeviceType::kCpu) return 1;
  static const int accelerators = count_accelerators();
  return type == accelerator_type() ? accelerators : 0;
}

bool Device::is_available() const noexcept { return index >= 0 && index < count(type); }

void Device::require_available() const {
  if (is_available()) return;
  if (is_cpu()) throw UnavailableError(concat("there is one CPU, device cpu; ", name(), " ", index, " is none"));
  const std::string_view preset = type == DeviceType::kCuda ? "cuda" : "cpu";
  if (type != accelerator_type()) {
    throw UnavailableError(concat("device ", name(), " is not in this build (preset ",
                                  type == DeviceType::kCuda ? "cpu" : "cuda", "); LOCKSTEP_PRESET=", preset,
                                  " ./lockstep train --device ", name_of(type), " builds and runs one that has it"));
  }
  const int there = count(type);
  if (there == 0) {
    throw UnavailableError(
        concat("device ", name(), ": this machine has no NVIDIA GPU with a driver; --device cpu works (with every ",
               "backend but nccl), and so does LOCKSTEP_PRESET=cpu ./lockstep train --device emulated"));
  }
  throw UnavailableError(concat("device ", name(), ": there ", there == 1 ? "is " : "are ", there, " such device",
                                there == 1 ? "" : "s", " (CUDA_VISIBLE_DEVICES counts); use ", name_of(type), ":0",
                                there == 1 ? "" : concat(" to ", name_of(type), ":", there - 1)));
}

DeviceType accelerator_type() noexcept {
#ifdef LOCKSTEP_HAVE_CUDA
  return DeviceType::kCuda;
#else
  return DeviceType::kEmulated;
#endif
}

void make_current(Device device) {
  if (!device.is_cpu()) cuda_check(cudaSetDevice(device.index), "choosing the device");
}

void synchronize(Device device) {
  if (device.is_cpu()) return;
  make_current(device);
  cuda_check(cudaDeviceSynchronize(), "waiting for the device");
}

}  // namespace lockstep
