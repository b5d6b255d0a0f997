#include "08_accelerate/process/launch_settings.hpp"

#include "base/environment.hpp"

namespace lockstep::accelerate {
namespace {

// `lockstep launch` searches a program's file for these names, to warn if the program would ignore a setting; `used`
// keeps them there in one piece.
[[gnu::used]] constexpr char kDeviceVariable[] = "LOCKSTEP_DEVICE";
[[gnu::used]] constexpr char kMixedPrecisionVariable[] = "LOCKSTEP_MIXED_PRECISION";

}  // namespace

std::optional<std::string> launched_device() { return environment::get(kDeviceVariable); }

std::optional<std::string> launched_mixed_precision() { return environment::get(kMixedPrecisionVariable); }

}  // namespace lockstep::accelerate
