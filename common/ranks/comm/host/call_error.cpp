#include "comm/host/call_error.hpp"

#include "base/error.hpp"
#include "comm/transport.hpp"

namespace lockstep::comm {
namespace {

std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace

std::exception_ptr with_context(const std::exception_ptr& error, const std::string& context) {
  try {
    std::rethrow_exception(error);
  } catch (const TimeoutError& timeout) {
    return std::make_exception_ptr(TimeoutError(concat(context, ": ", timeout.what())));
  } catch (const MismatchError& mismatch) {
    return std::make_exception_ptr(MismatchError(concat(context, ": ", mismatch.what())));
  } catch (const IoError& io) {
    return std::make_exception_ptr(IoError(concat(context, ": ", io.what())));
  } catch (const FormatError& format) {
    return std::make_exception_ptr(FormatError(concat(context, ": ", format.what())));
  } catch (...) {
    return error;
  }
}

Failure to_failure(const std::exception_ptr& error, int rank) {
  try {
    std::rethrow_exception(error);
  } catch (const MismatchError& mismatch) {
    return {FailureKind::kMismatch, -1, mismatch.what()};
  } catch (const TimeoutError& timeout) {
    return {FailureKind::kTimeout, -1, timeout.what()};
  } catch (const LinkError& link) {  // like FormatError for data from a peer: neither end is known to be at fault
    return {FailureKind::kAborted, -1, link.what()};
  } catch (const FormatError& damaged) {
    return {FailureKind::kAborted, -1, damaged.what()};
  } catch (...) {
    return {FailureKind::kAborted, rank, what_of(error)};
  }
}

bool is_io_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const IoError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace lockstep::comm
