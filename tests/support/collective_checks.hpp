#pragma once
/// @file
/// One test body for every backend: the contracts of all_reduce, broadcast and barrier, with threads as ranks.
#include <functional>
#include <memory>

#include "comm/process_group.hpp"

namespace lockstep::test {

/// Makes one rank's group with the backend under test.
using GroupFactory = std::function<std::unique_ptr<comm::ProcessGroup>(comm::JobContext)>;

/// World sizes 1 to 5 and 8; counts 0, 1, P-1, P, P+1, 1000 and, if it is larger, `largest_count`; every dtype and
/// operation: correct on every rank, element by element.
void check_all_reduce(const GroupFactory& make_group, std::int64_t largest_count);

/// Sums, means and products of random float32 and bfloat16 by all_reduce, reduce and reduce_scatter: the same bits in a
/// second job and, for all_reduce, on all ranks; correct within rounding.
void check_bits_repeat(const GroupFactory& make_group);

/// NaN on one rank reaches the same element on all ranks, through every operation, and no other element.
void check_nan_propagates(const GroupFactory& make_group);

/// Every root, several counts, bytes as well as floats.
void check_broadcast(const GroupFactory& make_group);

/// No rank leaves a barrier before the last has entered.
void check_barrier(const GroupFactory& make_group);

/// Several collectives in flight, waited for in reverse order.
void check_issue_order(const GroupFactory& make_group);

/// Ranks that disagree on count, dtype, operation, root or collective all get a MismatchError that names what each did.
void check_mismatches(const GroupFactory& make_group);

/// Calls with tags: equal ones match; different or missing ones, in any collective, give a MismatchError that shows
/// both.
void check_tags(const GroupFactory& make_group);

/// uint8 and float16, which cannot be reduced, are refused by the call itself, and the group stays usable.
void check_irreducible(const GroupFactory& make_group);

/// A rank that dies between two collectives is named by a PeerFailedError on all others.
void check_death(const GroupFactory& make_group);

/// After rank 0 has left, the others continue without it, and a rank that waits for one that has left is told which.
/// @param names_peer  False for libraries that do not report whose connection broke.
void check_rank_0_leaves(const GroupFactory& make_group, bool names_peer = true);

/// A collective that one rank never enters ends at its deadline.
void check_deadline(const GroupFactory& make_group);

}  // namespace lockstep::test
