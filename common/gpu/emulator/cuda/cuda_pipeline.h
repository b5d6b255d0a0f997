#pragma once
/// @file
/// Replaces CUDA's header of this name: asynchronous copies from global to shared memory. A copy lands when its thread
/// waits for it, not before.
#include "cuda_pipeline_primitives.h"
