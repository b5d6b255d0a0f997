#pragma once
/// @file
/// How the ranks of a communicator find one another, and how those of a part of it do.
#include <functional>
#include <memory>
#include <vector>

#include "emulated_nccl/mesh.hpp"
#include "emulated_nccl/unique_id.hpp"

namespace lockstep::emulated_nccl {

/// Whether to give up: asked several times a second. NCCL itself waits forever.
using ShouldStop = std::function<bool()>;

/// One rank on its way to a meeting.
struct Membership {
  MeetingPoint point;  ///< Where.
  int rank = 0;        ///< In [0, size).
  int size = 1;        ///< How many are expected.
  int device = 0;      ///< No two ranks of one process may have the same.
};

/// Waits for all ranks and connects each with each.
/// @throws NcclError  ncclInvalidUsage: two ranks have one device; names both. ncclSystemError: `should_stop` said so.
std::unique_ptr<Mesh> meet(const Membership& own, const ShouldStop& should_stop);

/// What a rank of a communicator says in ncclCommSplit().
struct Choice {
  int color = 0;  ///< NCCL_SPLIT_NOCOLOR: none.
  int key = 0;    ///< Ranks of a part are ordered by it, then by their old rank.
};

/// Tells `choice` to the other ranks, waits for theirs, and returns this rank's place in its part.
/// @param own     In the communicator that is split.
/// @param number  How many splits came before.
/// With NCCL_SPLIT_NOCOLOR that place means nothing.
Membership choose_part(const Membership& own, int number, const Choice& choice, const ShouldStop& should_stop);

}  // namespace lockstep::emulated_nccl
