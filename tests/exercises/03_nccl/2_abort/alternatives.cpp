#include "exercise/alternatives.hpp"

#include <chrono>
#include <thread>

#include "03_nccl/2_abort/abort.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"yields", "the thread yields instead of sleeping"},
    {"throws_from_a_guard", "a guard aborts when the function is left by an exception"},
    {"asks_the_error_first",
     "NCCL is asked for errors before the event, and the event once more before the deadline counts"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_alternative;

namespace {

// Aborts unless it is told that all is well.
class Guard {
 public:
  explicit Guard(ncclComm_t communicator) : communicator_(communicator) {}
  ~Guard() {
    if (communicator_ != nullptr) (void)ncclCommAbort(communicator_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  void release() { communicator_ = nullptr; }

 private:
  ncclComm_t communicator_;
};

bool has_happened(cudaEvent_t event) { return cudaEventQuery(event) == cudaSuccess; }

}  // namespace

void wait_or_abort(ncclComm_t communicator, cudaEvent_t done, const Deadline& deadline) {
  Guard guard(communicator);
  while (is_alternative("asks_the_error_first") || !has_happened(done)) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
    if (asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
      throw IoError(concat("noticed: ", ncclGetErrorString(state)), 0);
    if (is_alternative("asks_the_error_first") && has_happened(done)) break;
    if (deadline.has_expired()) throw TimeoutError("too late");
    if (is_alternative("yields")) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  guard.release();
}

}  // namespace lockstep::nccl
