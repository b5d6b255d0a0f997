#pragma once
/// @file
/// Marks what liblockstep_emulator.so shows to the outside. Everything else of it is hidden, so that no function of an
/// instrumented program can take the place of one of the emulator's.

/// A name that programs may link.
#define LOCKSTEP_EMULATOR_API __attribute__((visibility("default")))
