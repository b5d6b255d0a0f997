#pragma once
/// @file
/// Base class of backends. ProcessGroup (comm/process_group.hpp) checks calls; this class numbers and fingerprints them
/// and talks to the control plane and the flight recorder; a backend runs them.
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "comm/buffer.hpp"
#include "comm/fingerprint.hpp"
#include "comm/process_group.hpp"
#include "net/frame.hpp"

namespace lockstep::comm {

class DeviceStaging;

/// One issued collective as the backend sees it.
struct ProcessGroup::Call {
  std::uint64_t sequence = 0;  ///< 0, 1, 2, ... in call order; equal on all ranks.
  Collective collective = Collective::kBarrier;
  Buffer values{};              ///< The output, or the elements reduced in place or sent.
  Buffer input{};               ///< For collectives whose input is separate from their output.
  std::vector<Buffer> parts{};  ///< For a coalesced call: the buffers gathered into `values` and filled from it.
  ReduceOp op = ReduceOp::kSum;
  int root = 0;                              ///< Root, or peer.
  std::int64_t count = 0;                    ///< Elements that one rank contributes or gets, as in the fingerprint.
  Stream* stream = nullptr;                  ///< Null for host memory.
  std::shared_ptr<DeviceStaging> staging{};  ///< Device memory staged by a host backend; else null.
  Deadline deadline = Deadline::never();     ///< For the whole call.
  std::uint64_t record = 0;                  ///< Its entry in the flight recorder.
  CallTag tag{};

  /// The values that ranks compare.
  [[nodiscard]] Fingerprint fingerprint() const noexcept;
  /// The header of its messages, with its fingerprint. Messages of the other ranks must match it.
  /// @param rank  This process's rank in the group.
  [[nodiscard]] net::FrameHeader header(int rank, int generation) const noexcept;
};

/// A ProcessGroup without data movement, which a backend implements in the private virtual functions.
///
/// Order: do_issue() gets calls in issue order. The backend calls begin() and finish() for each of them, also in that
/// order; a send or recv may overlap with others. Its destructor ends running calls, then calls detach(). Thread
/// safety: begin(), finish(), failure() and wait_until_agreed() from the thread that runs calls; the rest from the
/// user's thread.
class ProcessGroupBackend : public ProcessGroup {
 public:
  ~ProcessGroupBackend() override;

  Work group_end() final;
  void require_no_open_group(std::string_view call) const final;
  void require_agreement() final;
  void abort(const std::string& reason) final;
  std::shared_ptr<trace::Recorder> record_to(std::shared_ptr<trace::Recorder> recorder) noexcept final;

 protected:
  /// @param context  Moved to ProcessGroup.
  explicit ProcessGroupBackend(JobContext context);

  /// Number of this group in the job, equal on all ranks; part of its store keys and handshakes.
  [[nodiscard]] int group_id() const noexcept { return group_id_; }

  /// Null if collectives are not traced.
  [[nodiscard]] trace::Recorder* recorder() const noexcept { return recorder_.get(); }

  /// Called by a backend when a call begins to run, from the thread that runs it.
  void begin(const Call& call) noexcept;
  /// Called by a backend when a call has ended, from the same thread. Tells the other ranks of an error.
  /// @return  The error to show to this rank's caller; names the culprit if the control plane knows it.
  std::exception_ptr finish(const Call& call, std::exception_ptr error) noexcept;

  /// The error that made the group fail, or null.
  [[nodiscard]] std::exception_ptr failure() const noexcept;
  void throw_if_failed() const;

  /// Afterwards do_abort() is not running and will not be called. A backend's destructor calls this first.
  void detach() noexcept;

  /// Blocks until all participants of `call` are known to have issued it identically; does nothing if
  /// compares_messages(). For threads that run calls, which pass its exception to finish().
  /// @throws MismatchError, PeerFailedError, TimeoutError
  void wait_until_agreed(const Call& call) const;
  /// The same for the caller's thread, after the call has ended; an error fails the group, as in finish().
  void require_agreement_on(const Call& call);

 private:
  /// Runs `calls` in order, but consecutive sends and recvs at the same time.
  /// @param calls  At least one; may be moved from.
  virtual Work do_issue(std::span<Call> calls, RunOn run_on) = 0;
  /// Called before a call on memory of `device` is numbered. Unless overridden, only host memory is moved.
  /// @throws ContractError, UnavailableError  The backend does not move memory of this device; the group goes on.
  virtual void require_movable(Device device);

  /// Whether each message identifies its collective and is rejected by a rank that runs a different one. If not, the
  /// control plane compares the calls that ranks issue.
  [[nodiscard]] virtual bool compares_messages() const noexcept { return true; }

  /// Wakes the backend's waiting threads and makes their waits fail; called once, from any thread.
  virtual void do_abort() noexcept = 0;

  Work issue(Call call, const CollectiveOptions& options, const std::source_location& where) final;
  void open_group(const std::source_location& where) final;
  void check(const Call& call);
  std::uint64_t next_number(const Call& call);
  void subscribe_to_failures();
  void fail(std::exception_ptr error) noexcept;
  void require_agreement_on(const Fingerprint& call, const Deadline& deadline);
  [[nodiscard]] std::exception_ptr explain(const Fingerprint& call, const std::exception_ptr& error) const;

  struct CallGroup;
  class GroupedWork;
  struct State;  // shared with other threads
  int group_id_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::vector<std::uint64_t> next_send_;        // by peer
  std::vector<std::uint64_t> next_recv_;        // by peer
  std::shared_ptr<CallGroup> open_group_;       // between group_start() and group_end()
  std::optional<Fingerprint> last_collective_;  // issued by this rank
  std::shared_ptr<trace::Recorder> recorder_;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::comm
