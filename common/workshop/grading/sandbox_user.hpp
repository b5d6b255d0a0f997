#pragma once
/// @file
/// Users of this host that submissions run as, where the grader is root.
#include "base/unique_fd.hpp"

namespace lockstep::grading {

/// A user id that belongs to one job of one grader on this host. Ending a submission ends all processes of its user, so
/// two submissions, also of two graders, must not share one. A lock on a file says that an id is taken; the kernel
/// releases it with the grader, however that ends.
class SandboxUser {
 public:
  /// The lowest free id from 61000 on: Debian and systemd give 61000 to 61183 to nobody.
  /// @throws IoError  All of them are taken, or the locks' folder cannot be made.
  SandboxUser();

  /// For Sandbox. Without meaning where this process is not root: submissions then run as its own user.
  [[nodiscard]] int id() const noexcept { return id_; }

 private:
  UniqueFd lock_;
  int id_;
};

}  // namespace lockstep::grading
