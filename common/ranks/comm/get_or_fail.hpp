#pragma once
/// @file
/// Waits for another rank's value; throws if the job fails or the deadline passes.
#include <chrono>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "comm/job_context.hpp"

namespace lockstep::comm {

/// How long a wait for another rank may take to notice that the job has failed.
constexpr std::chrono::milliseconds kJobWaitSlice{200};

/// @param task  What this rank is doing; begins the message: "rank 2: connecting to rank 0".
/// @throws PeerFailedError, MismatchError, TimeoutError  The job has failed: why, and by whose fault.
void throw_if_job_failed(const JobContext& context, std::string_view task);

/// Tells the others which rank this one waited for in vain, if it gives up outside a collective: otherwise they would
/// learn only that it left.
void tell_job_of(const JobContext& context, const TimeoutError& error) noexcept;

/// Waits for the value that another rank puts into the job's store under `key`. A value stored before the job failed
/// still arrives.
///
/// @param task  As for throw_if_job_failed(); names the awaited rank.
/// @throws PeerFailedError, MismatchError  The job has failed; within kJobWaitSlice.
/// @throws TimeoutError  The key does not exist by `deadline`; the others are told.
/// @throws IoError       The store is unreachable, and the control plane knows no cause.
[[nodiscard]] std::string get_or_fail(const JobContext& context, const std::string& key, std::string_view task,
                                      const Deadline& deadline);

}  // namespace lockstep::comm
