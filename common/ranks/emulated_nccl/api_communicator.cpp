// The calls of nccl.h that make and end communicators.
#include <climits>
#include <functional>
#include <memory>
#include <utility>

#include "emulated_nccl/failure.hpp"
#include "emulated_nccl/group.hpp"
#include "emulated_nccl/registry.hpp"

namespace {

using namespace lockstep::emulated_nccl;

void require_pointer(const void* pointer, const char* what) {
  nccl_require(pointer != nullptr, ncclInvalidArgument, "the pointer to the ", what, " is null");
}

// Reads `blocking` from a configuration. The other fields are checked, but have no effect.
bool read_blocking(const ncclConfig_t* config, bool otherwise) {
  if (config == nullptr) return otherwise;
  nccl_require(config->magic == LOCKSTEP_EMULATED_NCCL_MAGIC && config->size == sizeof(ncclConfig_t),
               ncclInvalidArgument, "the configuration was not initialized with NCCL_CONFIG_INITIALIZER");
  const auto is_unset = [](int value) { return value == NCCL_CONFIG_UNDEF_INT; };
  nccl_require(is_unset(config->blocking) || config->blocking == 0 || config->blocking == 1, ncclInvalidArgument,
               "config.blocking is ", config->blocking, ", not 0 or 1");
  nccl_require((is_unset(config->minCTAs) || config->minCTAs > 0) && (is_unset(config->maxCTAs) || config->maxCTAs > 0),
               ncclInvalidArgument, "config.minCTAs and config.maxCTAs must be at least 1");
  nccl_require(is_unset(config->minCTAs) || is_unset(config->maxCTAs) || config->minCTAs <= config->maxCTAs,
               ncclInvalidArgument, "config.minCTAs is above config.maxCTAs");
  return is_unset(config->blocking) ? true : config->blocking == 1;
}

bool never() { return false; }

ncclResult_t init_rank(const char* call, ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank,
                       const ncclConfig_t* config) {
  require_pointer(comm, "communicator");
  nccl_require(ranks > 0 && rank >= 0 && rank < ranks, ncclInvalidArgument, "there is no rank ", rank,
               " in a world of ", ranks);
  Membership own{read_unique_id(id), rank, ranks, 0};
  const bool is_blocking = read_blocking(config, true);
  cuda_require(cudaGetDevice(&own.device), "asking for the device");
  const auto communicator = std::make_shared<Communicator>(own, is_blocking);
  Communicator* const joining = communicator.get();
  return submit_joining(
      call, communicator, communicator, [joining, own] { joining->join([&] { return own; }, never); }, comm);
}

// The joining of a part by ncclCommSplit(). It ends even if it never begins: a communicator that is aborted drops the
// jobs that it has not begun, and the part would stay in progress.
class PartJoining {
 public:
  explicit PartJoining(std::shared_ptr<Communicator> part) : part_(std::move(part)) {}
  PartJoining(const PartJoining&) = delete;
  PartJoining& operator=(const PartJoining&) = delete;
  ~PartJoining() {
    if (part_ && !has_begun_) part_->join(give_up, never);
  }

  // Without a part the place is asked for too: the others must learn that this rank does not join.
  void run(const std::function<Membership()>& find_place, const ShouldStop& should_stop) {
    has_begun_ = true;
    if (part_)
      part_->join(find_place, should_stop);
    else
      find_place();
  }
  [[nodiscard]] bool is_aborted() const { return part_ && part_->is_aborted(); }

 private:
  static Membership give_up() {
    throw NcclError(ncclSystemError,
                    "given up: the split never began, because its communicator was aborted or its group has failed");
  }

  std::shared_ptr<Communicator> part_;  // null: this rank joins none
  bool has_begun_ = false;
};

ncclResult_t split(ncclComm_t comm, const Choice& choice, ncclComm_t* part_handle, const ncclConfig_t* config) {
  const auto whole = communicator_of(comm);
  require_pointer(part_handle, "new communicator");
  nccl_require(choice.color >= 0 || choice.color == NCCL_SPLIT_NOCOLOR, ncclInvalidArgument, "the color ", choice.color,
               " is neither NCCL_SPLIT_NOCOLOR nor at least 0");
  whole->require_open();
  const bool is_blocking = read_blocking(config, whole->is_blocking());
  std::shared_ptr<Communicator> part;
  if (choice.color != NCCL_SPLIT_NOCOLOR) part = std::make_shared<Communicator>(whole->own(), is_blocking);
  const int number = whole->next_split();
  const auto joining = [whole = whole.get(), own = std::make_shared<PartJoining>(part), number, choice] {
    const auto stop = [&] { return whole->is_aborted() || own->is_aborted(); };
    own->run([&] { return choose_part(whole->own(), number, choice, stop); }, stop);
  };
  return submit_joining("ncclCommSplit", whole, part, joining, part_handle);
}

// As nccl_call(), for calls that a group may contain: their failure is the group's.
ncclResult_t make(const char* call, const std::function<ncclResult_t()>& body) {
  const ncclResult_t result = nccl_call(call, body);
  if (result != ncclSuccess && result != ncclInProgress) fail_group(result);
  return result;
}

// Answers a query about an existing communicator.
ncclResult_t ask(const char* call, ncclComm_t comm, int* answer, int (*question)(const Membership&)) {
  return nccl_call(call, [&] {
    const auto communicator = communicator_of(comm);
    require_pointer(answer, "answer");
    communicator->require_ready();
    *answer = question(communicator->own());
    return ncclSuccess;
  });
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call("ncclGetUniqueId", [&] {
    require_pointer(id, "id");
    *id = make_unique_id();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return make("ncclCommInitRank", [&] { return init_rank("ncclCommInitRank", comm, ranks, id, rank, nullptr); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return make("ncclCommInitRankConfig",
              [&] { return init_rank("ncclCommInitRankConfig", comm, ranks, id, rank, config); });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config) {
  return make("ncclCommSplit", [&] { return split(comm, {color, key}, part, config); });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return nccl_call("ncclCommFinalize", [&] {
    const auto communicator = communicator_of(comm);
    communicator->require_open();
    communicator->refuse_more();
    return communicator->perform("ncclCommFinalize", [own = communicator.get()] { own->wait_until_idle(); });
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return nccl_call("ncclCommDestroy", [&] {
    if (comm == nullptr) return ncclSuccess;
    const auto communicator = communicator_of(comm);
    communicator->require_ready();
    communicator->refuse_more();
    communicator->wait_until_idle();
    communicator->abort();  // nothing is running: only closes the connections
    remove_handle(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return nccl_call("ncclCommAbort", [&] {
    if (comm == nullptr) return ncclSuccess;
    const auto communicator = communicator_of(comm);
    communicator->abort();
    remove_handle(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return nccl_call("ncclCommGetAsyncError", [&] {
    const auto communicator = communicator_of(comm);
    require_pointer(error, "answer");
    *error = communicator->status();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* ranks) {
  return ask("ncclCommCount", comm, ranks, [](const Membership& own) { return own.size; });
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return ask("ncclCommCuDevice", comm, device, [](const Membership& own) { return own.device; });
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return ask("ncclCommUserRank", comm, rank, [](const Membership& own) { return own.rank; });
}
