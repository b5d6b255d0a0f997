#pragma once
/// @file
/// Descriptors that somebody else has left open.

namespace lockstep {

/// Programs that this one starts do not inherit what it has inherited: every open descriptor above 2 is closed there,
/// unless it is passed on purpose (by dup2 in the new process). Call it first in main().
void close_inherited_on_exec() noexcept;

}  // namespace lockstep
