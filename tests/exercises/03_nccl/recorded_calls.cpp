#include "exercises/03_nccl/recorded_calls.hpp"

#include <nccl.h>

#include <map>
#include <optional>
#include <utility>

namespace lockstep::exercise {
namespace {

thread_local CallRecorder* recorder = nullptr;

std::size_t bytes_of(std::size_t count, ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return count;
    case ncclFloat16:
    case ncclBfloat16:
      return 2 * count;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8 * count;
    default:
      return 4 * count;
  }
}

}  // namespace

/// One call, from its beginning to its end.
class RecordedScope {
 public:
  RecordedScope(RecordedCall call, bool may_wait) {
    if (recorder == nullptr || recorder->is_inside_) return;
    own_ = recorder;
    own_->is_inside_ = true;
    if (may_wait) {
      own_->progress_.call = own_->waiting_calls_++;  // calls of links do not count; the entry adds 1
      entry_.emplace(&own_->progress_, RankState::kCollective, -1, 0, std::source_location(), call.name);
    }
    own_->calls_.push_back(std::move(call));
  }
  RecordedScope(const RecordedScope&) = delete;
  RecordedScope& operator=(const RecordedScope&) = delete;
  ~RecordedScope() {
    if (own_ != nullptr) own_->is_inside_ = false;
  }

 private:
  CallRecorder* own_ = nullptr;
  std::optional<ProgressEntry> entry_;
};

CallRecorder::CallRecorder(RankProgress& progress) : progress_(progress) { recorder = this; }

CallRecorder::~CallRecorder() { recorder = nullptr; }

void CallRecorder::report(Answer& answer) const {
  std::map<std::string, int> counts;
  std::string order;
  for (const RecordedCall& call : calls_) {
    ++counts[call.name];
    order += call.name + " ";
  }
  for (const auto& [name, count] : counts) answer.set<int>(name, count);
  answer.set<std::string>("calls", order);
}

}  // namespace lockstep::exercise

// Declares the library's function by the name that the linker gives it, and defines the one that is called.
#define RECORDED(Result, name, parameters, arguments, may_wait, ...)                             \
  extern "C" Result __real_##name parameters;                                                    \
  extern "C" Result __wrap_##name parameters {                                                   \
    const lockstep::exercise::RecordedScope scope({#name __VA_OPT__(, ) __VA_ARGS__}, may_wait); \
    return __real_##name arguments;                                                              \
  }
#define NCCL(name, parameters, arguments, may_wait, ...) \
  RECORDED(ncclResult_t, name, parameters, arguments, may_wait, __VA_ARGS__)
#define CUDA(name, parameters, arguments, may_wait, ...) \
  RECORDED(cudaError_t, name, parameters, arguments, may_wait, __VA_ARGS__)

using Place = lockstep::emulator::SourcePlace;

// Each name here is in CMakeLists.txt, too. The last arguments, of those that have them: the stream, the event or the
// memory, bytes, and the peer.
NCCL(ncclGetUniqueId, (ncclUniqueId * id), (id), false)
NCCL(ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank), (comm, ranks, id, rank), true,
     nullptr, nullptr, 0, rank)
NCCL(ncclCommInitRankConfig, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config),
     (comm, ranks, id, rank, config), true, nullptr, nullptr, 0, rank)
NCCL(ncclCommFinalize, (ncclComm_t comm), (comm), true)
NCCL(ncclCommDestroy, (ncclComm_t comm), (comm), true)
NCCL(ncclCommAbort, (ncclComm_t comm), (comm), true)
NCCL(ncclGroupStart, (), (), false)
NCCL(ncclGroupEnd, (), (), true)
NCCL(ncclAllReduce,
     (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
      cudaStream_t stream),
     (send, receive, count, type, op, comm, stream), false, stream, send)
NCCL(ncclSend, (const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
     (buffer, count, type, peer, comm, stream), false, stream, buffer, lockstep::exercise::bytes_of(count, type), peer)
NCCL(ncclRecv, (void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
     (buffer, count, type, peer, comm, stream), false, stream, buffer, lockstep::exercise::bytes_of(count, type), peer)
CUDA(cudaDeviceSynchronize, (), (), true)
CUDA(cudaStreamSynchronize, (cudaStream_t stream), (stream), true, stream)
CUDA(cudaStreamQuery, (cudaStream_t stream), (stream), false, stream)
CUDA(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags), false,
     stream, event)
CUDA(cudaEventCreate, (cudaEvent_t * event), (event), false)
CUDA(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), (event, flags), false)
CUDA(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream), false, stream, event)
CUDA(cudaEventSynchronize, (cudaEvent_t event), (event), true, nullptr, event)
CUDA(cudaEventQuery, (cudaEvent_t event), (event), false, nullptr, event)
CUDA(cudaEventDestroy, (cudaEvent_t event), (event), false, nullptr, event)
CUDA(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, Place place),
     (to, from, bytes, kind, place), true)
CUDA(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, Place place),
     (to, from, bytes, kind, stream, place), false, stream, from, bytes)
