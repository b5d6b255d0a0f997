#pragma once
/// @file
/// Inherited file descriptors.

namespace lockstep {

/// Closes inherited descriptors in programs that this one starts: every descriptor above 2 that is open now becomes
/// close-on-exec, unless it is passed on purpose (by dup2 in the new process). Call it first in main().
void close_inherited_on_exec() noexcept;

}  // namespace lockstep
