#pragma once
/// @file
/// The exceptions that every module throws, and `require`, which checks preconditions.
#include <stdexcept>
#include <string>

#include "base/text.hpp"

namespace lockstep {

/// Base of everything the project throws. what() names the rank, operation, peer and amounts if they are known, and
/// what to try.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A system call or a peer's connection failed.
class IoError : public Error {
 public:
  /// @param message       The operation and the peer.
  /// @param error_number  `errno` of the failed call, or 0 if none applies (for example: the peer closed).
  explicit IoError(const std::string& message, int error_number = 0);

  /// `errno` of the failed call, or 0.
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  int error_number_;
};

/// A deadline passed. The message names the operation, the peer and the time waited.
class TimeoutError : public Error {
 public:
  using Error::Error;
};

/// Ranks disagree on the operation. The message says what each of them was doing.
class MismatchError : public Error {
 public:
  using Error::Error;
};

/// Another rank died, left or gave up; its group is unusable.
class PeerFailedError : public Error {
 public:
  /// @param message  Names the culprit and the reason.
  /// @param culprit  Its rank, or -1 if unknown.
  PeerFailedError(const std::string& message, int culprit) : Error(message), culprit_(culprit) {}

  /// The rank that failed, or -1 if unknown.
  [[nodiscard]] int culprit() const noexcept { return culprit_; }

 private:
  int culprit_;
};

/// Input from outside (a file, a frame, an environment variable, an option) has the wrong form.
class FormatError : public Error {
 public:
  using Error::Error;
};

/// A wrong option or value on a command line, found after parsing; programs end with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// This machine or build lacks something that is needed (a device, a library); programs end with exit code 77, which
/// CTest counts as skipped.
class UnavailableError : public Error {
 public:
  using Error::Error;
};

/// A caller broke a function's precondition: a bug in the calling code.
class ContractError : public Error {
 public:
  using Error::Error;
};

/// Throws ContractError, with the parts joined to one message, unless `condition` holds.
template <typename... Parts>
void require(bool condition, const Parts&... message_parts) {
  if (!condition) throw ContractError(concat(message_parts...));
}

}  // namespace lockstep
