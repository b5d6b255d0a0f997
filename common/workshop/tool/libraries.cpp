#include "tool/libraries.hpp"

#include <dlfcn.h>

#include <optional>

#include "base/text.hpp"

namespace lockstep::tool {
namespace {

// The version reported by a library's function `int name(int* version)`; nothing if it fails or is missing. The library
// stays loaded: NVIDIA's libraries do not support unloading.
std::optional<int> version_of(const char* library, const char* function) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(handle, function));
  int version = 0;
  if (ask == nullptr || ask(&version) != 0 || version <= 0) return std::nullopt;
  return version;
}

}  // namespace

std::string cuda_driver_version() {
  const auto version = version_of("libcuda.so.1", "cuDriverGetVersion");  // 12040 is 12.4
  return version ? concat(*version / 1000, '.', *version % 1000 / 10) : "none";
}

std::string nccl_version() {
  const auto version = version_of("libnccl.so.2", "ncclGetVersion");  // 21903 is 2.19.3; before 2.9, 2804 is 2.8.4
  if (!version) return "none";
  const int major = *version >= 10'000 ? 10'000 : 1000;
  return concat(*version / major, '.', *version % major / 100, '.', *version % 100);
}

}  // namespace lockstep::tool
