#pragma once
/// @file
/// Versions of NVIDIA's libraries, loaded at run time: the tool also runs without them.
#include <string>

namespace lockstep::tool {

/// The newest CUDA version that the driver supports, "12.4", or a text saying that there is none.
[[nodiscard]] std::string cuda_driver_version();

/// NCCL's version, "2.19.3", or a text saying that there is none.
[[nodiscard]] std::string nccl_version();

}  // namespace lockstep::tool
