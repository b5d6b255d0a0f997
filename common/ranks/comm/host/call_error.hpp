#pragma once
/// @file
/// The error of a call on its way to those who must learn of it: this rank's caller and the other ranks.
#include <exception>
#include <string>

#include "comm/control/control_plane.hpp"

namespace lockstep::comm {

/// The same error with `context` ("rank 2: all_reduce #14") before its message; one of an unknown type as it is.
[[nodiscard]] std::exception_ptr with_context(const std::exception_ptr& error, const std::string& context);

/// What the other ranks are told about an error of rank `rank` of the job. A mismatch, a timeout, a broken connection
/// or damaged data is not known to be its fault.
[[nodiscard]] Failure to_failure(const std::exception_ptr& error, int rank);

/// Whether it is an IoError: a connection broke, and the control plane may know whose.
[[nodiscard]] bool is_io_error(const std::exception_ptr& error);

}  // namespace lockstep::comm
