#pragma once
/// @file
/// Conversions of a call's error for this rank's caller and for the other ranks.
#include <exception>
#include <string>

#include "comm/control/control_plane.hpp"

namespace lockstep::comm {

/// The same error with `context` ("rank 2: all_reduce #14") before its message; an error of unknown type is returned
/// unchanged.
[[nodiscard]] std::exception_ptr with_context(const std::exception_ptr& error, const std::string& context);

/// The report to other ranks about an error of rank `rank` of the job. A mismatch, a timeout, a broken connection or
/// damaged data is not attributed to it.
[[nodiscard]] Failure to_failure(const std::exception_ptr& error, int rank);

/// Whether it is an IoError: a connection broke, and the control plane may know which rank died.
[[nodiscard]] bool is_io_error(const std::exception_ptr& error);

}  // namespace lockstep::comm
