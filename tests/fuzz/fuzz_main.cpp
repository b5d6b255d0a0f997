// The entry point that libFuzzer calls, for the target that the build names.
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static const lockstep::fuzz::Target& target = lockstep::fuzz::target_named(LOCKSTEP_FUZZ_TARGET);
  target.run({reinterpret_cast<const std::byte*>(data), bytes});
  return 0;
}
