#pragma once
// The connections of one group, made by Gloo; not for others.
#include <gloo/context.h>

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "comm/job_context.hpp"

namespace lockstep::gloo_backend {

class BufferWatch;

// Gloo writes to sockets whose other end may be gone, which by default ends the process. While this lives, this thread,
// and each that it starts, gets an error instead (EPIPE), which Gloo expects.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() noexcept;
  ~PipeSignalBlocked();
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  bool was_blocked_ = false;
};

// Gloo gives each wait for a message its own timeout, and when a connection breaks it wakes neither the receiver of
// half a message nor the sender of one. So every buffer that its algorithms make is watched: all waits of a collective
// end by the one deadline, and interrupt() ends them at once.
class Connection {
 public:
  // Connects to all ranks of the group. Throws as make_gloo_process_group().
  Connection(const comm::JobContext& context, const std::string& group);

  // What Gloo's algorithms take for a collective that must end by `deadline`.
  [[nodiscard]] const std::shared_ptr<::gloo::Context>& begin(const Deadline& deadline);

  // Makes a running collective, and all later ones, throw gloo::IoException soon. From any thread.
  void interrupt() noexcept;

 private:
  std::shared_ptr<BufferWatch> watch_;
  std::shared_ptr<::gloo::Context> context_;
};

}  // namespace lockstep::gloo_backend
