#pragma once
/// @file
/// A collective, send or receive as it was asked for, and what of it the host needs to know.
#include <cstddef>
#include <span>
#include <vector>

#include "emulated_nccl/include/nccl.h"

namespace lockstep::emulated_nccl {

/// Which call.
enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive };

/// One call with its arguments.
struct Operation {
  const char* name = "";              ///< Of the call, for messages.
  Kind kind = Kind::kAllReduce;       ///< Which call.
  const void* send = nullptr;         ///< Device memory; null where nothing is read.
  void* receive = nullptr;            ///< Device memory; null where nothing is written.
  std::size_t count = 0;              ///< Elements, as the call counts them.
  ncclDataType_t type = ncclFloat32;  ///< Of each element.
  ncclRedOp_t op = ncclSum;           ///< Where something is reduced.
  int peer = 0;                       ///< Root of a collective, other end of a send or receive.
  cudaStream_t stream = nullptr;      ///< Where it is enqueued.
};

/// Whether all ranks take part.
[[nodiscard]] constexpr bool is_collective(Kind kind) noexcept { return kind != Kind::kSend && kind != Kind::kReceive; }
/// Whether elements are computed with, not only moved.
[[nodiscard]] constexpr bool is_reduction(Kind kind) noexcept {
  return kind == Kind::kAllReduce || kind == Kind::kReduce || kind == Kind::kReduceScatter;
}

/// Bytes that rank `rank` of `size` reads at `send`.
[[nodiscard]] std::size_t input_bytes(const Operation& operation, int rank, int size) noexcept;
/// Bytes that rank `rank` of `size` writes at `receive`.
[[nodiscard]] std::size_t output_bytes(const Operation& operation, int rank, int size) noexcept;

/// Whether type and reduction are valid and known here; and the peer a rank of `size`.
/// @throws NcclError  ncclInvalidArgument; says which is not.
void require_known(const Operation& operation, int size);

/// Sends to this rank itself need receives from it, one by one of the same size.
/// @throws NcclError  ncclInvalidUsage.
void require_paired_with_self(std::span<const Operation> operations, int rank);

}  // namespace lockstep::emulated_nccl
