#pragma once
/// @file
/// Separate user ids for submissions if the grader is root.
#include "base/unique_fd.hpp"

namespace lockstep::grading {

/// A user id reserved for one job of one grader on this host. Ending a submission kills all processes of its user, so
/// two submissions, even of two graders, must not share one. A file lock marks an id as taken; the kernel releases it
/// when the grader ends, however it ends.
class SandboxUser {
 public:
  /// The lowest free id from 61000 on: Debian and systemd leave 61000 to 61183 unassigned.
  /// @throws IoError  All are taken, or the folder for locks cannot be made.
  SandboxUser();

  /// For Sandbox. Unused if this process is not root: submissions then run as its own user.
  [[nodiscard]] int id() const noexcept { return id_; }

 private:
  UniqueFd lock_;
  int id_;
};

}  // namespace lockstep::grading
