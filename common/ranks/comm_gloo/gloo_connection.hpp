#pragma once
// One group's connections, made by Gloo. Internal to this module.
#include <gloo/context.h>

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "comm/job_context.hpp"

namespace lockstep::gloo_backend {

class BufferWatch;

// Gloo writes to sockets whose other end may be gone, which by default ends the process. During this object's lifetime,
// this thread and the threads that it starts get an error instead (EPIPE), which Gloo handles.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() noexcept;
  ~PipeSignalBlocked();
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  bool was_blocked_ = false;
};

// Gloo gives each wait for a message its own timeout, and when a connection breaks it wakes neither the receiver nor
// the sender of half a message. So every buffer of its algorithms is watched: all waits of a collective share one
// deadline, and interrupt() ends them at once.
class Connection {
 public:
  // Connects to all ranks of the group. Throws like make_gloo_process_group().
  Connection(const comm::JobContext& context, const std::string& group);

  // The context for Gloo's algorithms in a collective that must end by `deadline`.
  [[nodiscard]] const std::shared_ptr<::gloo::Context>& begin(const Deadline& deadline);

  // Makes a running collective, and all later ones, throw gloo::IoException soon. From any thread.
  void interrupt() noexcept;

 private:
  std::shared_ptr<BufferWatch> watch_;
  std::shared_ptr<::gloo::Context> context_;
};

}  // namespace lockstep::gloo_backend
