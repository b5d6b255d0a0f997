#pragma once
/// @file
/// How the ranks of a communicator, or of a part of one, find each other.
#include <functional>
#include <memory>
#include <vector>

#include "emulated_nccl/mesh.hpp"
#include "emulated_nccl/unique_id.hpp"

namespace lockstep::emulated_nccl {

/// Whether to give up; called several times a second. NCCL itself waits forever.
using ShouldStop = std::function<bool()>;

/// One rank on its way to a meeting.
struct Membership {
  MeetingPoint point;
  int rank = 0;    ///< In [0, size).
  int size = 1;    ///< Number of expected ranks.
  int device = 0;  ///< No two ranks of one process may have the same.
};

/// Waits for all ranks and connects every pair.
/// @throws NcclError  ncclInvalidUsage: two ranks have the same device; names both. ncclSystemError: `should_stop`
///         returned true.
std::unique_ptr<Mesh> meet(const Membership& own, const ShouldStop& should_stop);

/// A rank's arguments of ncclCommSplit().
struct Choice {
  int color = 0;  ///< NCCL_SPLIT_NOCOLOR: none.
  int key = 0;    ///< Ranks of a part are ordered by it, then by their old rank.
};

/// Sends `choice` to the other ranks, waits for theirs, and returns this rank's place in its part.
/// @param own     In the communicator to split.
/// @param number  Number of earlier splits.
/// With NCCL_SPLIT_NOCOLOR the result is meaningless.
Membership choose_part(const Membership& own, int number, const Choice& choice, const ShouldStop& should_stop);

}  // namespace lockstep::emulated_nccl
