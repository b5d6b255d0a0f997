#pragma once
/// @file
/// Replaces CUDA's header of this name: groups of threads as objects. Tiles have at most 32 threads; there are no
/// clusters of blocks.
#include "cuda_runtime_api.h"
#include "lockstep_emulator/grid_group.h"
#include "lockstep_emulator/group_partitions.h"
#include "lockstep_emulator/thread_groups.h"
