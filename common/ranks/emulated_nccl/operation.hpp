#pragma once
/// @file
/// A requested collective, send or receive, and its properties that the host needs.
#include <cstddef>
#include <span>
#include <vector>

#include "emulated_nccl/include/nccl.h"

namespace lockstep::emulated_nccl {

enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive };

/// One call with its arguments.
struct Operation {
  const char* name = "";  ///< The call's, for messages.
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;  ///< Device memory; null if nothing is read.
  void* receive = nullptr;     ///< Device memory; null if nothing is written.
  std::size_t count = 0;       ///< Elements, as counted by the call.
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;  ///< For reductions.
  int peer = 0;              ///< Root of a collective, or other end of a send or receive.
  cudaStream_t stream = nullptr;
};

/// Whether all ranks take part.
[[nodiscard]] constexpr bool is_collective(Kind kind) noexcept { return kind != Kind::kSend && kind != Kind::kReceive; }
/// Whether elements are reduced, not only moved.
[[nodiscard]] constexpr bool is_reduction(Kind kind) noexcept {
  return kind == Kind::kAllReduce || kind == Kind::kReduce || kind == Kind::kReduceScatter;
}

/// Bytes that rank `rank` of `size` reads at `send`.
[[nodiscard]] std::size_t input_bytes(const Operation& operation, int rank, int size) noexcept;
/// Bytes that rank `rank` of `size` writes at `receive`.
[[nodiscard]] std::size_t output_bytes(const Operation& operation, int rank, int size) noexcept;

/// Checks that type and reduction are supported, the peer is in [0, size), and the bytes of all ranks fit a size_t.
/// @throws NcclError  ncclInvalidArgument; names the invalid one.
void require_known(const Operation& operation, int size);

/// Checks that each send to this rank itself has a matching receive of the same size.
/// @throws NcclError  ncclInvalidUsage.
void require_paired_with_self(std::span<const Operation> operations, int rank);

}  // namespace lockstep::emulated_nccl
