#pragma once
/// @file
/// Keeps file descriptors out of the programs that this one starts.

namespace lockstep {

/// Marks every open descriptor above 2 close-on-exec, so that no program started from here inherits one by accident. A
/// descriptor can still be passed on purpose, by dup2 in the new process. Call it first in main().
void close_inherited_on_exec() noexcept;

}  // namespace lockstep
