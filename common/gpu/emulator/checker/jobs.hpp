#pragma once
/// @file
/// The jobs that checked mode is asked to do.

namespace lockstep::emulator::checker {

/// The checker's two jobs.
struct alignas(2) Jobs {  // read together; with an alignment of 1, clang would call libatomic
  bool rules = false;     ///< Find bugs.
  bool metrics = false;   ///< Count requests.
};

/// For future launches. Thread safety: any thread.
[[nodiscard]] Jobs jobs() noexcept;

}  // namespace lockstep::emulator::checker
