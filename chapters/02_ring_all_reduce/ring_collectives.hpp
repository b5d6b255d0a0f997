#pragma once
/// @file
/// A ring's collectives other than all-reduce, and the arithmetic that they share with it.
#include <span>

#include "comm/host/call_messages.hpp"

namespace lockstep::ring {

/// Broadcast and reduce as a chain along the ring; all-gather and reduce-scatter as the two halves of all-reduce, but
/// with separate buffers for input and output. As there, a rank sends only to its right neighbour and receives only
/// from its left one, a segment at a time.
///
/// For two ranks or more. Each call blocks until this rank's part is done; sent data may still be queued.
/// @throws  As comm::CallMessages.
class RingCollectives {
 public:
  using Call = comm::ProcessGroup::Call;

  /// @param messages  The group's; must outlive this object.
  explicit RingCollectives(comm::CallMessages& messages);

  void broadcast(const Call& call);       ///< call.values of the root to all.
  void reduce(const Call& call);          ///< The reduction of all call.values to the root; others keep theirs.
  void all_gather(const Call& call);      ///< call.input of rank r becomes part r of all call.values.
  void reduce_scatter(const Call& call);  ///< The reduction of all parts r of call.input to call.values of rank r.

 private:
  comm::CallMessages& messages_;
  const int rank_, world_size_;
  const int left_, right_;
};

/// own[i] = own[i] op theirs[i].
void add(const comm::ProcessGroup::Call& call, std::span<std::byte> own, std::span<const std::byte> theirs);
/// For a mean, divides the sums by `world_size`.
void divide_if_mean(const comm::ProcessGroup::Call& call, std::span<std::byte> sums, int world_size);

}  // namespace lockstep::ring
