#pragma once
/// @file
/// Replaces CUB's header of this name: BlockReduce, BlockScan, WarpReduce and WarpScan, nothing else.
#include "../lockstep_emulator/block_primitives.h"
