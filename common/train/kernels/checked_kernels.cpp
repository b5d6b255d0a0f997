#include "kernels/checked_kernels.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace lockstep::kernels {
namespace {

constexpr const char* kLibrary = "liblockstep_checked_kernels.so";  // found where the emulator's library lies

const Operations& load_checked_operations() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw UnavailableError(
        concat("LOCKSTEP_EMULATOR_CHECK=1: the checked kernels (target checked_kernels) are not built: ", dlerror()));
  }
  const auto operations = reinterpret_cast<const Operations* (*)()>(dlsym(library, "lockstep_checked_operations"));
  require(operations != nullptr, kLibrary, " has no checked kernels");
  return *operations();
}

}  // namespace

const Operations& checked_operations() {
  static const Operations& operations = load_checked_operations();
  return operations;
}

}  // namespace lockstep::kernels
