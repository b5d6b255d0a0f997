#pragma once
/// @file
/// What checked mode has been asked for.

namespace lockstep::emulator::checker {

/// The checker's two jobs.
struct alignas(2) Jobs {  // both bytes at once; aligned to one, clang would call libatomic
  bool rules = false;     ///< Find bugs.
  bool metrics = false;   ///< Count requests.
};

/// For launches to come. Thread safety: any thread.
[[nodiscard]] Jobs jobs() noexcept;

}  // namespace lockstep::emulator::checker
