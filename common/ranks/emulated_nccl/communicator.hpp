#pragma once
/// @file
/// One rank's end of a communicator: who it is, how it fares, and whose turn it is.
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

/// Operations run in the order in which they were enqueued, on whichever streams: each draws a number, and waits for
/// its turn. One that cannot be completed hangs, and with it all that come later, until abort().
///
/// Thread safety: calls of the API from one thread; status(), abort() and what streams call from any.
class Communicator {
 public:
  /// @param own          Place in the meeting, until join() gives another.
  /// @param is_blocking  Whether calls wait until they are done.
  Communicator(Membership own, bool is_blocking) : own_(std::move(own)), is_blocking_(is_blocking) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() { close(); }

  [[nodiscard]] const Membership& own() const noexcept { return own_; }     ///< Rank, size, device.
  [[nodiscard]] bool is_blocking() const noexcept { return is_blocking_; }  ///< As configured.
  [[nodiscard]] int next_split() noexcept { return split_count_++; }        ///< Number of a split.
  [[nodiscard]] std::string message() const;                                ///< Of the failure; else empty.

  /// What ncclCommGetAsyncError() says.
  [[nodiscard]] ncclResult_t status() const;
  /// @throws NcclError  Something is in progress or has failed.
  void require_ready() const;
  /// As require_ready(), for calls that a finalized communicator refuses as well.
  void require_open() const;

  /// Runs `job` now, or (not blocking) soon, on the communicator's own thread; what it throws is then its status.
  /// @return  ncclSuccess or ncclInProgress.
  ncclResult_t perform(const char* call, std::function<void()> job);

  void begin_joining() noexcept;  ///< In progress, until join() ends.
  /// Takes the place that `find_place` gives and waits for all ranks there. How that ends is this object's status.
  /// @param should_stop  Asked too, where another communicator's end is the end of this one.
  void join(const std::function<Membership()>& find_place, const ShouldStop& should_stop) noexcept;
  void fail(ncclResult_t code, const std::string& text) noexcept;  ///< From here on; the first failure stays.

  /// @name What streams do
  /// @{
  [[nodiscard]] std::uint64_t draw_number();  ///< For one group of operations.
  /// Waits for its turn and runs; returns only when done or aborted.
  void run(std::uint64_t number, std::span<const HostOperation> operations) noexcept;
  /// @}

  void refuse_more() noexcept;              ///< Finalized: no operation is accepted any more.
  void wait_until_idle();                   ///< All that was enqueued is done, or aborted.
  void abort() noexcept;                    ///< Ends what runs, hangs or waits.
  void close() noexcept { jobs_.close(); }  ///< Ends the communicator's thread.
  [[nodiscard]] bool is_aborted() const;    ///< Whether abort() was called.

 private:
  [[nodiscard]] ncclResult_t status_locked() const noexcept;
  void exchange_or_hang(std::span<const HostOperation> operations) noexcept;

  Membership own_;
  const bool is_blocking_;
  int split_count_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::unique_ptr<Mesh> mesh_;
  std::uint64_t drawn_ = 0;
  std::uint64_t done_ = 0;
  int running_ = 0;  // groups that use mesh_
  int in_progress_ = 0;
  ncclResult_t failure_ = ncclSuccess;
  std::string message_;
  bool is_finalized_ = false;
  bool is_aborted_ = false;

  JobThread jobs_;  // of calls that do not block; ends before what they use
};

}  // namespace lockstep::emulated_nccl
