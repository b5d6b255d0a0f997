#include "03_nccl/2_abort/abort.hpp"

#include <chrono>
#include <thread>

namespace lockstep::nccl {

void wait_or_abort(ncclComm_t communicator, cudaEvent_t done, const Deadline& deadline) {
  // SOLUTION(03.2) wait_or_abort: look again and again: is it done, has NCCL seen an error, has the deadline expired?
  try {
    while (cudaEventQuery(done) == cudaErrorNotReady) {
      ncclResult_t state = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
      if (asked != ncclSuccess) state = asked;
      if (state != ncclSuccess && state != ncclInProgress)
        throw IoError(concat("the collective has failed: ", ncclGetErrorString(state)));
      if (deadline.has_expired())
        throw TimeoutError(concat("the collective was not done within ", format_seconds(deadline.waited())));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    ncclCommAbort(communicator);  // else the stream would wait forever
    throw;
  }
  // END SOLUTION
}

}  // namespace lockstep::nccl
