#pragma once
/// @file
/// Versions of NVIDIA's libraries, asked of the libraries themselves: the tool runs where there are none.
#include <string>

namespace lockstep::tool {

/// The newest CUDA that the driver can run, "12.4", or that there is none.
[[nodiscard]] std::string cuda_driver_version();

/// NCCL's version, "2.19.3", or that there is none.
[[nodiscard]] std::string nccl_version();

}  // namespace lockstep::tool
