#pragma once
/// @file
/// Waiting in a job for what another rank does: until it has, the job has failed, or the time is over.
#include <chrono>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "comm/job_context.hpp"

namespace lockstep::comm {

/// How long a wait for another rank may take to notice that the job has failed.
constexpr std::chrono::milliseconds kJobWaitSlice{200};

/// @param task  What this rank is doing, which begins the message: "rank 2: connecting to rank 0".
/// @throws PeerFailedError, MismatchError, TimeoutError  The job has failed: why, and by whose fault.
void throw_if_job_failed(const JobContext& context, std::string_view task);

/// Tells the others whom this rank has waited for in vain, where it gives up outside of a collective: else they would
/// learn only that it has left.
void tell_job_of(const JobContext& context, const TimeoutError& error) noexcept;

/// What another rank has put into the job's store under `key`, as soon as it has. What it had to say before the job
/// failed still arrives.
///
/// @param task  As throw_if_job_failed()'s; names the rank that is waited for.
/// @throws PeerFailedError, MismatchError  The job has failed; within kJobWaitSlice.
/// @throws TimeoutError  The key does not exist by `deadline`; the others are told.
/// @throws IoError       The store cannot be reached any more, and the control plane does not say why.
[[nodiscard]] std::string get_or_fail(const JobContext& context, const std::string& key, std::string_view task,
                                      const Deadline& deadline);

}  // namespace lockstep::comm
