#pragma once
/// @file
/// The collectives beside all-reduce on a ring, and the arithmetic that they share with it.
#include <span>

#include "comm/host/call_messages.hpp"

namespace lockstep::ring {

/// Broadcast and reduce as a chain along the ring; all-gather and reduce-scatter as the two halves of all-reduce, but
/// with separate buffers for input and output. As there, a rank sends only to its right neighbour and receives only
/// from its left one, a segment at a time.
///
/// For two ranks or more. Each call blocks until this rank's part is done; what it sent may still be queued.
/// @throws  As comm::CallMessages.
class RingCollectives {
 public:
  using Call = comm::ProcessGroup::Call;

  /// @param messages  Of the group; must outlive this object.
  explicit RingCollectives(comm::CallMessages& messages);

  void broadcast(const Call& call);       ///< call.values of the root to all.
  void reduce(const Call& call);          ///< call.values of all to the root; those of the others stay as they are.
  void all_gather(const Call& call);      ///< call.input of rank r becomes part r of all call.values.
  void reduce_scatter(const Call& call);  ///< The sum of all parts r of call.input becomes call.values of rank r.

 private:
  comm::CallMessages& messages_;
  const int rank_, world_size_;
  const int left_, right_;
};

/// own[i] = own[i] op theirs[i].
void add(const comm::ProcessGroup::Call& call, std::span<std::byte> own, std::span<const std::byte> theirs);
/// Of a mean, divides the sums of all `world_size` ranks.
void divide_if_mean(const comm::ProcessGroup::Call& call, std::span<std::byte> sums, int world_size);

}  // namespace lockstep::ring
