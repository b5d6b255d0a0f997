#pragma once
/// @file
/// Replaces CUB's header of this name.
#include "../../lockstep_emulator/warp_primitives.h"
