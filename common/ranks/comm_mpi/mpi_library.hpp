#pragma once
// What belongs to MPI as a whole, of which a process has one; not for others.
#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/deadline.hpp"

namespace lockstep::mpi_backend {

// How long a call that waits for other ranks may take, and what ends it earlier.
struct MpiWait {
  Deadline deadline;
  std::function<void()> check;  // throws where waiting is in vain; called again and again
};

// MPI of this process. Its calls come one at a time, whichever group and thread they come from: the lock is never held
// while waiting for another rank, except where a communicator is made.
//
// Calls that MPI itself does not limit (to initialize, to make a communicator, to finalize) run on a thread of their
// own, which is what MPI calls the main thread. One that does not return in time is left behind there, and MPI is given
// up.
class MpiLibrary {
 public:
  // Initializes MPI with the first call. Throws UnavailableError where MPI can be called by one thread only,
  // TimeoutError, and what wait.check throws.
  static MpiLibrary& instance(const MpiWait& wait);

  [[nodiscard]] int rank() const noexcept { return rank_; }              // in MPI_COMM_WORLD
  [[nodiscard]] int world_size() const noexcept { return world_size_; }  // of MPI_COMM_WORLD

  // A communicator of the processes with these ranks in MPI_COMM_WORLD, in this order, one of which is this process.
  // All of them call it. `tag` tells groups apart that are made at the same time. Throws as instance().
  [[nodiscard]] MPI_Comm make_communicator(std::span<const int> ranks, int tag, const MpiWait& wait);
  void free_communicator(MPI_Comm communicator) noexcept;

  // Starts a collective and polls until it is done. Throws IoError, and TimeoutError at the deadline.
  // `is_interrupted` is asked meanwhile. After any of these MPI is given up.
  void run(const std::function<int(MPI_Request*)>& start, const Deadline& deadline,
           const std::function<bool()>& is_interrupted);

  // From now on nothing calls MPI any more, not even to finalize it: memory of a collective that has not ended may be
  // gone, and MPI would write to it.
  void give_up() noexcept;

  // How long the end of this process waits for the others.
  void wait_at_exit_for(std::chrono::milliseconds limit) noexcept;

 private:
  class MainThread;

  MpiLibrary();
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

// Throws IoError with MPI's own words where `code` is an error.
void check_mpi(int code);

}  // namespace lockstep::mpi_backend
