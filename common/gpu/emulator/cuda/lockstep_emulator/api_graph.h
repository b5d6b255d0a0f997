#pragma once
/// @file
/// Graphs of the runtime's C API: operations of streams that are recorded once and issued many times. A launched graph
/// runs its operations one after another, in the order in which they were recorded. Graphs cannot be made of nodes.
#include <stddef.h>

#include "export.h"
#include "runtime_types.h"

/// Which threads' unsafe calls are errors during a capture: all threads', those of the thread that began it, none. In
/// the emulator these calls are: allocating, freeing and pinning memory (but not in the order of a stream), querying
/// an event or waiting for it.
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
enum cudaGraphExecUpdateResult {
  cudaGraphExecUpdateSuccess = 0,
  cudaGraphExecUpdateError = 1,
  cudaGraphExecUpdateErrorTopologyChanged = 2,
};

struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
using cudaGraph_t = CUgraph_st*;          ///< Recorded operations.
using cudaGraphExec_t = CUgraphExec_st*;  ///< A copy of them, ready to be launched.
using cudaGraphNode_t = CUgraphNode_st*;  ///< One of them; programs only count them.

/// For cudaGraphExecUpdate.
struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;  ///< Why the update failed.
  cudaGraphNode_t errorNode;         ///< Null.
  cudaGraphNode_t errorFromNode;     ///< Null.
};

#define cudaGraphInstantiateFlagAutoFreeOnLaunch 1  ///< Accepted, no effect.

extern "C" {

/// From here on the stream's operations are recorded, not run, and those of streams that wait for its events.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
/// cudaErrorStreamCaptureUnjoined if a stream that joined has operations that the first one does not wait for.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
/// Which captures forbid this thread unsafe calls: its own and global ones of others (the mode of a new thread), only
/// its own, none. @param mode  In: the new mode. Out: the mode before.
LOCKSTEP_EMULATOR_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);

/// An empty graph.
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphDestroy(cudaGraph_t graph);
/// @param nodes  Null, for the number of operations.
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                       unsigned long long flags = 0);
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                                unsigned long long flags = 0);
/// Takes the arguments of another graph with the same operations.
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                                      cudaGraphExecUpdateResultInfo* info);
/// Issues the operations to the stream. They run after earlier launches of the same executable graph, in any stream.
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
/// Does nothing.
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
/// Issued launches complete.
LOCKSTEP_EMULATOR_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

}  // extern "C"

/// The form before CUDA 12.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* /*error*/,
                                        char* /*log*/, size_t /*bytes*/) {
  return cudaGraphInstantiate(executable, graph, 0ULL);
}
