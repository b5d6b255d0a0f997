#pragma once
/// @file
/// The exchange between ranks of a group of operations whose data is in host memory.
#include <cstddef>
#include <span>

#include "emulated_nccl/mesh.hpp"
#include "emulated_nccl/operation.hpp"

namespace lockstep::emulated_nccl {

/// An operation whose buffers are in host memory.
struct HostOperation {
  Operation call;               ///< As requested.
  std::span<std::byte> input;   ///< This rank's contribution.
  std::span<std::byte> output;  ///< This rank's result.
};

/// Runs the collectives one after another, then all sends and receives at once. Every rank adds in the order of ranks,
/// so results repeat bit for bit and are the same on all ranks.
/// @throws IoError, FormatError  As Mesh::exchange().
void exchange(Mesh& mesh, std::span<const HostOperation> operations);

}  // namespace lockstep::emulated_nccl
