#pragma once
/// @file
/// Given: the wait of exercise 03.2 as its callers see it.
#include <nccl.h>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "exercise/todo.hpp"

namespace lockstep::nccl {

/// Waits until a collective is done, has failed, or is late. Does the work of the chapter's watchdog, for one
/// collective.
///
/// @param communicator  Of which the collective is. Still usable when this returns; gone when it throws, for it has
///                      been aborted then: exactly one call of ncclCommAbort().
/// @param done          Recorded in the stream behind the collective. cudaEventQuery(done) says whether it has happened
///                      (cudaSuccess) or not yet (cudaErrorNotReady).
/// @param deadline      By which the collective should be done. A finished collective counts as done, however late it
/// is looked at.
/// @throws IoError       NCCL has noticed an error since, such as a peer that is gone; with ncclGetErrorString()'s
/// words.
/// @throws TimeoutError  The deadline has expired.
/// @post  The stream goes on, whether this returns or throws.
/// @cost  Looks about once in a millisecond and sleeps in between.
void wait_or_abort(ncclComm_t communicator, cudaEvent_t done, const Deadline& deadline);

}  // namespace lockstep::nccl
