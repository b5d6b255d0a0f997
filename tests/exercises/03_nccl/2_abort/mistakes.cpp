#include <chrono>
#include <thread>

#include "03_nccl/2_abort/abort.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"never_asks",
     "NCCL is not asked for errors, or what it says is not looked at, so only the deadline notices a vanished rank",
     "ncclCommGetAsyncError() writes what NCCL has noticed to its second argument: look at that."},
    {"no_deadline", "the deadline is not looked at, so a rank that stays away makes the others wait forever",
     "A peer that does nothing is no error: ask deadline.has_expired() in every round."},
    {"no_abort", "the function throws without aborting the communicator",
     "Without ncclCommAbort() the stream waits forever, and with it the next cudaStreamSynchronize()."},
    {"aborts_on_errors_only", "the communicator is aborted for errors of NCCL, and not at the deadline",
     "Let one catch (...) abort, whatever has been thrown."},
    {"always_a_timeout", "every failure is reported as a TimeoutError",
     "Who reads the message must know whether a rank has gone or is late: an error of NCCL is an IoError."},
    {"always_an_error", "a deadline that has expired is reported as an IoError",
     "Nobody has failed, one is late: that is a TimeoutError."},
    {"destroys", "ncclCommDestroy() is called where ncclCommAbort() is needed",
     "Destroying waits for the work in progress, which waits for the peer."},
    {"always_aborts", "the communicator is aborted after success, too", "The caller goes on using it."},
    {"synchronizes", "the host waits for the event in a call that does not return",
     "cudaEventQuery() asks, cudaEventSynchronize() waits."},
    {"deadline_first", "the deadline is looked at before the event", "What is done is done: ask for the event first."},
    {"in_progress_is_an_error", "ncclInProgress is taken for an error",
     "It means that the communicator is busy with a call. Only what is neither ncclSuccess nor ncclInProgress is one."},
    {"own_words", "the IoError does not say what NCCL has noticed",
     "ncclGetErrorString() has the words for what ncclCommGetAsyncError() wrote."},
    {"asks_once", "the three questions are asked once, not again and again",
     "cudaErrorNotReady means not yet: sleep for a millisecond, and ask again."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_mistake;

namespace {

void look(ncclComm_t communicator, const Deadline& deadline) {
  ncclResult_t state = ncclSuccess;
  if (!is_mistake("never_asks")) ncclCommGetAsyncError(communicator, &state);
  const bool is_error = state != ncclSuccess && (state != ncclInProgress || is_mistake("in_progress_is_an_error"));
  if (is_error && is_mistake("always_a_timeout")) throw TimeoutError("late");
  if (is_error) throw IoError(is_mistake("own_words") ? "a peer has gone" : ncclGetErrorString(state));
  if (deadline.has_expired() && is_mistake("always_an_error")) throw IoError("late");
  if (deadline.has_expired() && !is_mistake("no_deadline")) throw TimeoutError("late");
}

void wait(ncclComm_t communicator, cudaEvent_t done, const Deadline& deadline) {
  if (is_mistake("synchronizes")) cudaEventSynchronize(done);
  if (is_mistake("deadline_first")) look(communicator, deadline);
  while (cudaEventQuery(done) == cudaErrorNotReady) {
    look(communicator, deadline);
    if (is_mistake("asks_once")) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void wait_or_abort(ncclComm_t communicator, cudaEvent_t done, const Deadline& deadline) {
  try {
    wait(communicator, done, deadline);
    if (is_mistake("always_aborts")) ncclCommAbort(communicator);
  } catch (const TimeoutError&) {
    if (is_mistake("destroys")) ncclCommDestroy(communicator);
    if (!is_mistake("no_abort") && !is_mistake("aborts_on_errors_only")) ncclCommAbort(communicator);
    throw;
  } catch (const IoError&) {
    if (is_mistake("destroys")) ncclCommDestroy(communicator);
    if (!is_mistake("no_abort")) ncclCommAbort(communicator);
    throw;
  }
}

}  // namespace lockstep::nccl
