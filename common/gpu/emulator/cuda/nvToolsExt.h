#pragma once
/// @file
/// Replaces NVTX's older header of this name.
#include "nvtx3/nvToolsExt.h"
