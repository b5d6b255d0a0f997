#pragma once
/// @file
/// Memory of graphs: what cudaMallocAsync allocates in a captured stream. Thread safety: every call from any thread.
#include <memory>

#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/device_memory.hpp"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Gives a block to the capture of the stream: it is freed when no graph, executable graph or stream holds the recorded
/// operations any more.
/// @throws ApiError  The capture is invalid; the block has been freed.
void record_allocation(const std::shared_ptr<StreamQueue>& queue, const Allocation& block, SourcePlace place);
/// Records that the graph no longer uses the block, whose contents are arbitrary then.
/// @throws ApiError  The block is of no graph, or its graph frees it already, or the capture is invalid.
void record_free(const std::shared_ptr<StreamQueue>& queue, const Allocation& block, SourcePlace place);
/// For calls that free at once. @throws ApiError  The block is of a graph.
void refuse_graph_memory(const Allocation& block);

}  // namespace lockstep::emulator
