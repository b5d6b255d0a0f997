#pragma once
/// @file
/// Replaces CUDA's older header of this name.
#include "cuda_runtime.h"
