#include "device/device.hpp"

#include <charconv>

#include "base/error.hpp"

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

bool Device::is_available() const noexcept { return is_cpu() && index == 0; }

}  // namespace lockstep
