#pragma once
/// @file
/// NCCL's interface on the emulator: the calls, types and values that code written against NVIDIA's <nccl.h> names, so
/// that it compiles unchanged and runs without a GPU, between processes or threads, over sockets. Its times are
/// meaningless. NVIDIA's manual documents each call; the comments here describe differences and common mistakes.
///
/// Not supported: float16 and float8, user-defined reductions, windows, shrinking, graphs (in a captured stream an
/// operation is ncclInvalidUsage). ncclMin and ncclMax propagate NaN, which NCCL does not promise.
/// @source NCCL 2.28 user guide, https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <climits>
#include <cstddef>

/// Defined here only, so that a program can tell this library from NVIDIA's.
#define LOCKSTEP_EMULATED_NCCL 1

#define NCCL_MAJOR 2  ///< Version of the interface.
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""  ///< Empty for a release.
/// A version as one number, as ncclGetVersion() gives it.
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))
/// This header's version.
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)

#define NCCL_COMM_NULL nullptr
#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN  ///< "The library decides", for numbers.
#define NCCL_CONFIG_UNDEF_PTR nullptr  ///< "The library decides", for pointers.
#define NCCL_SPLIT_NOCOLOR (-1)        ///< The color of a rank that joins no part.

extern "C" {

/// One rank's end of a communicator.
using ncclComm_t = struct ncclComm*;

/// Identifies a communicator while its ranks join: plain bytes, to be sent by any means. It contains a secret that
/// admits its owner.
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];  ///< For the library.
};

/// Result of a call.
enum ncclResult_t {
  ncclSuccess = 0,             ///< Done, or (for collectives) enqueued.
  ncclUnhandledCudaError = 1,  ///< A CUDA call failed.
  ncclSystemError = 2,         ///< A system call failed.
  ncclInternalError = 3,       ///< A bug in the library.
  ncclInvalidArgument = 4,     ///< An argument is no valid value.
  ncclInvalidUsage = 5,        ///< The call is wrong in this place, or ranks do not fit together.
  ncclRemoteError = 6,         ///< Another rank has gone.
  ncclInProgress = 7,          ///< With blocking = 0: not done yet.
  ncclNumResults = 8           ///< Number of values.
};

/// Options of a communicator. Initialize with NCCL_CONFIG_INITIALIZER, then change members.
struct ncclConfig_t {
  size_t size;              ///< For the library.
  unsigned int magic;       ///< For the library.
  unsigned int version;     ///< For the library.
  int blocking;             ///< 0: calls return ncclInProgress and continue in the background; else they wait.
  int cgaClusterSize;       ///< Ignored here.
  int minCTAs;              ///< Checked (at least 1, at most maxCTAs), then ignored here.
  int maxCTAs;              ///< As minCTAs.
  const char* netName;      ///< Ignored here.
  int splitShare;           ///< Ignored here.
  int trafficClass;         ///< Ignored here.
  const char* commName;     ///< Ignored here.
  int collnetEnable;        ///< Ignored here.
  int CTAPolicy;            ///< Ignored here.
  int shrinkShare;          ///< Ignored here.
  int nvlsCTAs;             ///< Ignored here.
  int nChannelsPerNetPeer;  ///< Ignored here.
  int nvlinkCentricSched;   ///< Ignored here.
};

/// Marks an initialized ncclConfig_t.
#define LOCKSTEP_EMULATED_NCCL_MAGIC 0x6c6f636bu
/// Every value left to the library.
#define NCCL_CONFIG_INITIALIZER                                                                     \
  {                                                                                                 \
    sizeof(ncclConfig_t), LOCKSTEP_EMULATED_NCCL_MAGIC, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT,   \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT                                                                       \
  }

/// How two elements become one.
enum ncclRedOp_t {
  ncclSum = 0,               ///< a + b.
  ncclProd = 1,              ///< a * b.
  ncclMax = 2,               ///< The larger one.
  ncclMin = 3,               ///< The smaller one.
  ncclAvg = 4,               ///< The sum, divided by the number of ranks.
  ncclNumOps = 5,            ///< Number of built-in ones.
  ncclMaxRedOp = 0x7fffffff  ///< The largest value the type must hold.
};

/// The type of an element.
enum ncclDataType_t {
  ncclInt8 = 0,         ///< Moved, not reduced, here.
  ncclChar = 0,         ///< ncclInt8.
  ncclUint8 = 1,        ///< Moved, not reduced, here.
  ncclInt32 = 2,        ///< 4 bytes.
  ncclInt = 2,          ///< ncclInt32.
  ncclUint32 = 3,       ///< Moved, not reduced, here.
  ncclInt64 = 4,        ///< 8 bytes.
  ncclUint64 = 5,       ///< Moved, not reduced, here.
  ncclFloat16 = 6,      ///< Moved, not reduced, here.
  ncclHalf = 6,         ///< ncclFloat16.
  ncclFloat32 = 7,      ///< 4 bytes.
  ncclFloat = 7,        ///< ncclFloat32.
  ncclFloat64 = 8,      ///< 8 bytes.
  ncclDouble = 8,       ///< ncclFloat64.
  ncclBfloat16 = 9,     ///< 2 bytes; added in float32, rounded after each addition.
  ncclFloat8e4m3 = 10,  ///< Moved, not reduced, here.
  ncclFloat8e5m2 = 11,  ///< Moved, not reduced, here.
  ncclNumTypes = 12     ///< Number of values.
};

/// @name The library
/// @{
ncclResult_t ncclGetVersion(int* version);  ///< NCCL_VERSION_CODE.
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);           ///< The last failure in this process; `comm` may be null.
ncclResult_t ncclMemAlloc(void** pointer, size_t size);  ///< Device memory of the current device.
ncclResult_t ncclMemFree(void* pointer);                 ///< Memory from ncclMemAlloc().
/// @}

/// @name Communicators
/// @{

/// A new id, which this process serves until it ends: rank 0 creates it and gives it to the others. It listens, as all
/// ranks do, on loopback, or on the address of its own host in LOCKSTEP_BIND_ADDRESS or of LOCKSTEP_INTERFACE.
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
/// Waits for all ranks. The communicator belongs to the current device; no two ranks of one process may have the same.
/// Devices of different processes are never the same here.
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
/// As ncclCommInitRank(); with config->blocking = 0 returns ncclInProgress at once, with *comm set.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
/// Called by all ranks: those of one color form a new communicator, in the order of their keys, then ranks. With
/// NCCL_SPLIT_NOCOLOR the result is null.
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);  ///< Waits until all enqueued operations are done. Then destroy it.
ncclResult_t ncclCommDestroy(ncclComm_t comm);   ///< Finalizes if necessary, and frees.
/// Ends running and hanging operations, here at once, and frees. From any thread. The results of those operations are
/// undefined.
ncclResult_t ncclCommAbort(ncclComm_t comm);
/// ncclInProgress while a call with blocking = 0 is not done: until then its operation is not in the stream. Afterwards
/// ncclSuccess or the failure since, which is the only sign of a peer's death: the stream itself just hangs.
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommCount(ncclComm_t comm, int* ranks);
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
/// @}

/// @name Collectives
/// Enqueued in `stream`; the host does not wait. Buffers are memory of the communicator's device; both may be the same.
/// Nothing checks that ranks agree: if they do not, results are garbage or the stream hangs until ncclCommAbort().
/// @{
ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream);  ///< Every rank gets the reduction.
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream);  ///< Rank `root` gets the reduction.
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream);  ///< Every rank gets what `root` sends.
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream);  ///< ncclBroadcast() in place.
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);  ///< Every rank gets all ranks' `count` elements, by rank.
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream);  ///< Rank r gets part r, `count` long.
ncclResult_t ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);  ///< To a rank that calls ncclRecv().
ncclResult_t ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);  ///< From a rank that calls ncclSend().
/// @}

/// @name Groups
/// Calls of one thread between the two start together at the end, and move together: no order of them can deadlock.
/// @{
ncclResult_t ncclGroupStart();  ///< May be nested.
ncclResult_t ncclGroupEnd();    ///< ncclInProgress if a communicator of the outermost one has blocking = 0.
/// @}

}  // extern "C"
