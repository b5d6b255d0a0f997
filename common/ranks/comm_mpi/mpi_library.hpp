#pragma once
// The state of MPI as a whole, one per process. Internal to this module.
#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/deadline.hpp"

namespace lockstep::mpi_backend {

// Limits on a call that waits for other ranks.
struct MpiWait {
  Deadline deadline;
  std::function<void()> check;  // called repeatedly; throws if waiting is pointless
};

// MPI in this process. Its calls are serialized over all groups and threads. The lock is not held while waiting for
// another rank, except while making a communicator.
//
// Calls without a time limit in MPI (to initialize, to make a communicator, to finalize) run on a separate thread,
// MPI's "main thread". If one does not return in time, that thread is abandoned, and MPI is not used any more.
class MpiLibrary {
 public:
  // Initializes MPI unless a call before has. Throws UnavailableError if MPI supports calls from one thread only,
  // TimeoutError, and the exceptions of wait.check.
  static MpiLibrary& instance(const MpiWait& wait);

  [[nodiscard]] int rank() const noexcept { return rank_; }              // in MPI_COMM_WORLD
  [[nodiscard]] int world_size() const noexcept { return world_size_; }  // of MPI_COMM_WORLD

  // A communicator of the processes with these ranks in MPI_COMM_WORLD, in this order; this process is one of them. All
  // of them call it. `tag` distinguishes groups made at the same time. Throws like instance().
  [[nodiscard]] MPI_Comm make_communicator(std::span<const int> ranks, int tag, const MpiWait& wait);
  void free_communicator(MPI_Comm communicator) noexcept;

  // Starts a collective and polls until it is done. Throws IoError, and TimeoutError at the deadline. Polls
  // `is_interrupted` meanwhile. After any of these, MPI is given up.
  void run(const std::function<int(MPI_Request*)>& start, const Deadline& deadline,
           const std::function<bool()>& is_interrupted);

  // Prevents all later calls of MPI, even MPI_Finalize: MPI would write to memory of an unfinished collective.
  void give_up() noexcept;

  // How long this process waits for the others at its end.
  void wait_at_exit_for(std::chrono::milliseconds limit) noexcept;

 private:
  class MainThread;

  MpiLibrary();
  static MpiLibrary& of_process();
  void initialize(const MpiWait& wait);
  static void finalize() noexcept;
  void run_on_main_thread(const std::string& task, const std::function<void()>& call, const MpiWait& wait);
  void throw_if_given_up() const;
  [[nodiscard]] bool poll(MPI_Request& request);

  std::mutex mutex_;
  std::shared_ptr<MainThread> main_thread_;  // this and the next two: under mutex_
  bool is_initialized_ = false;
  bool is_given_up_ = false;
  std::chrono::milliseconds exit_limit_{0};
  int rank_ = 0;
  int world_size_ = 1;
};

// Throws IoError with MPI's own message if `code` is an error.
void check_mpi(int code);

}  // namespace lockstep::mpi_backend
