#pragma once
/// @file
/// Replaces CUB's header of this name.
#include "../../lockstep_emulator/block_primitives.h"
