#pragma once
/// @file
/// What a group of operations does between the ranks, once its data lies in host memory.
#include <cstddef>
#include <span>

#include "emulated_nccl/mesh.hpp"
#include "emulated_nccl/operation.hpp"

namespace lockstep::emulated_nccl {

/// An operation whose buffers lie in host memory.
struct HostOperation {
  Operation call;               ///< As asked for.
  std::span<std::byte> input;   ///< What this rank gives.
  std::span<std::byte> output;  ///< What it gets.
};

/// Runs the collectives one after another, then all sends and receives at once. Every rank adds in the order of ranks,
/// so results repeat bit for bit and are the same on all ranks.
/// @throws IoError, FormatError  As Mesh::exchange().
void exchange(Mesh& mesh, std::span<const HostOperation> operations);

}  // namespace lockstep::emulated_nccl
