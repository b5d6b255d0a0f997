#pragma once
/// @file
/// Marks the symbols that liblockstep_emulator.so exports. All others are hidden, so that no function of an
/// instrumented program can replace one of the emulator's.

/// Exports a symbol.
#define LOCKSTEP_EMULATOR_API __attribute__((visibility("default")))
