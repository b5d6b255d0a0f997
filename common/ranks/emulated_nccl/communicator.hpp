#pragma once
/// @file
/// One rank's end of a communicator: its membership, its status, and the order of operations.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "emulated_nccl/exchange.hpp"
#include "emulated_nccl/job_thread.hpp"
#include "emulated_nccl/meeting.hpp"

namespace lockstep::emulated_nccl {

/// Operations run in the order in which they were enqueued, whatever their streams: each draws a number and waits for
/// its turn. An operation that cannot complete hangs until abort(), and so do all later ones.
///
/// Thread safety: calls of the API from one thread; status(), abort() and the functions called by streams from any.
class Communicator {
 public:
  /// @param own          Place in the meeting, until join() replaces it.
  /// @param is_blocking  If true, calls return only when they are done.
  Communicator(Membership own, bool is_blocking) : own_(std::move(own)), is_blocking_(is_blocking) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() { jobs_.close(); }

  [[nodiscard]] const Membership& own() const noexcept { return own_; }
  [[nodiscard]] bool is_blocking() const noexcept { return is_blocking_; }
  [[nodiscard]] int next_split() noexcept { return split_count_++; }  ///< Number of the next split.
  [[nodiscard]] std::string message() const;                          ///< Of the failure; empty if there is none.

  /// Result of ncclCommGetAsyncError().
  [[nodiscard]] ncclResult_t status() const;
  /// @throws NcclError  An operation is in progress or has failed.
  void require_ready() const;
  /// As require_ready(), but a finalized communicator throws too.
  void require_open() const;

  /// Runs `job` now, or (not blocking) soon, on the communicator's own thread; its exception then becomes the status.
  /// @return  ncclSuccess or ncclInProgress.
  ncclResult_t perform(const char* call, std::function<void()> job);

  void begin_joining() noexcept;  ///< In progress, until join() ends.
  /// Asks `find_place` for this rank's place and waits for the other ranks. The outcome becomes the status.
  /// @param should_stop  Ends the wait, as abort() does; for a communicator that must end with another one.
  void join(const std::function<Membership()>& find_place, const ShouldStop& should_stop) noexcept;
  void fail(ncclResult_t code, const std::string& text) noexcept;  ///< Only the first failure counts.

  /// @name Called by streams
  /// @{
  [[nodiscard]] std::uint64_t draw_number();  ///< Of a group of operations.
  void give_back_number() noexcept;           ///< The last one drawn: no stream will call run() with it.
  /// Waits for its turn and runs the operations; returns when done or aborted.
  void run(std::uint64_t number, std::span<const HostOperation> operations) noexcept;
  /// @}

  void refuse_more() noexcept;  ///< Finalized: rejects further operations.
  void wait_until_idle();       ///< Until all enqueued operations are done or aborted.
  void abort() noexcept;        ///< Ends all running, hanging and waiting operations.
  [[nodiscard]] bool is_aborted() const;

 private:
  [[nodiscard]] ncclResult_t status_locked() const noexcept;
  void exchange_or_hang(std::span<const HostOperation> operations) noexcept;

  Membership own_;
  const bool is_blocking_;
  int split_count_ = 0;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::unique_ptr<Mesh> mesh_;
  std::uint64_t drawn_ = 0;
  std::uint64_t done_ = 0;
  int running_ = 0;  // groups using mesh_
  int in_progress_ = 0;
  ncclResult_t failure_ = ncclSuccess;
  std::string message_;
  bool is_finalized_ = false;
  bool is_aborted_ = false;

  JobThread jobs_;  // for non-blocking calls; ends before the members they use
};

}  // namespace lockstep::emulated_nccl
