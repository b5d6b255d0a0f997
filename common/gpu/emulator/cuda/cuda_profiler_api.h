#pragma once
/// @file
/// Replaces CUDA's header of this name: cudaProfilerStart and cudaProfilerStop, which do nothing.
#include "cuda_runtime_api.h"
