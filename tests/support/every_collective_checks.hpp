#pragma once
/// @file
/// One test body for every backend: the collectives other than all_reduce, broadcast and barrier.
#include <vector>

#include "support/collective_checks.hpp"

namespace lockstep::test {

/// reduce, all_gather, reduce_scatter, gather, scatter, all_to_all, send and recv: counts 0, 1, P-1, P, P+1, 1000;
/// every dtype and operation, every root; inputs unchanged; correct element by element.
void check_every_collective(const GroupFactory& make_group, const std::vector<int>& world_sizes = {1, 2, 3, 4, 5, 8});

/// The same, and all_reduce and broadcast, with about a million elements over all ranks: dtypes and operations in
/// pairs.
void check_every_collective_at_scale(const GroupFactory& make_group);

/// Every collective with more bytes per rank than the system's buffers hold (32 MiB): neighbours must not deadlock.
void check_larger_than_buffers(const GroupFactory& make_group);

/// all_gather and gather from, reduce_scatter and scatter into this rank's part of the longer buffer.
void check_in_place(const GroupFactory& make_group);

/// Grouped sends and recvs in an order that would deadlock one by one; grouped collectives.
void check_grouped_calls(const GroupFactory& make_group);

/// Several buffers of different counts, some empty, reduced as one.
void check_coalesced(const GroupFactory& make_group);

/// Groups of even and odd ranks, in reversed order, and a rank that joins none; groups of a group; both alternately.
void check_split(const GroupFactory& make_group);

/// Groups of groups, made by ranks independently, and then a group of all: each reduces over its own ranks only.
void check_nested_splits(const GroupFactory& make_group);

/// JSON objects of different lengths, from every root and from all ranks; one that is too long.
void check_objects(const GroupFactory& make_group);

/// Deferred calls run when waited for, with the next call, or at the end.
void check_deferred(const GroupFactory& make_group);

/// Ranks that disagree in any of the collectives are told which rank did what.
void check_mismatches_of_every_collective(const GroupFactory& make_group);

}  // namespace lockstep::test
