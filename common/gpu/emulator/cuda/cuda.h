#pragma once
/// @file
/// Replaces CUDA's header of this name, for programs that include it beside the runtime's. It has no functions: those
/// of the driver (cu...) are not emulated.

#define CUDA_VERSION 13000  ///< The emulated version, 13.0.
