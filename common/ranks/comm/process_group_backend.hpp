#pragma once
/// @file
/// What a backend builds on: it runs the calls that the user's contract (comm/process_group.hpp) has checked, and says
/// how they end. Numbers, fingerprints, the control plane and the flight recorder are seen to here.
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
  std::uint64_t sequence = 0;                    ///< 0, 1, 2, ... in call order; equal on all ranks.
  Collective collective = Collective::kBarrier;  ///< Which operation.
  Buffer values{};                               ///< What changes: the output, or what is reduced in place, or sent.
  Buffer input{};                                ///< Of collectives with an input apart from their output.
  std::vector<Buffer> parts{};                   ///< Of a coalesced call: where `values` come from and go to.
  ReduceOp op = ReduceOp::kSum;                  ///< For reductions.
  int root = 0;                                  ///< Root, or peer.
  std::int64_t count = 0;                        ///< Elements that one rank contributes or gets: the fingerprint's.
  Stream* stream = nullptr;                      ///< Null for host memory.
  std::shared_ptr<DeviceStaging> staging{};      ///< Where a host backend stages device memory; else null.
  Deadline deadline = Deadline::never();         ///< For the whole call.
  std::uint64_t record = 0;                      ///< Its entry in the flight recorder.
  CallTag tag{};                                 ///< The caller's.

  /// What ranks compare.
  [[nodiscard]] Fingerprint fingerprint() const noexcept;
  /// The header of messages that belong to it, with its fingerprint: what the other ranks must send too.
  /// @param rank  Of this process, in the group.
  [[nodiscard]] net::FrameHeader header(int rank, int generation) const noexcept;
};

/// A ProcessGroup up to the moving of data, which a backend adds in its private virtual functions.
///
/// Order: do_issue() gets calls in the order of their issue. The backend calls begin() and finish() for each of them,
/// in that order too; a send or recv may overlap with others. Its destructor ends what runs, then calls detach().
/// Thread safety: begin(), finish(), failure() and wait_until_agreed() from whichever thread runs calls; the rest from
/// the user's thread.
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

  /// Number of this group among those of the job, equal on all ranks: part of its store keys and handshakes.
  [[nodiscard]] int group_id() const noexcept { return group_id_; }

  /// Where collectives are recorded, or null.
  [[nodiscard]] trace::Recorder* recorder() const noexcept { return recorder_.get(); }

  /// Called by a backend when a call begins to run, from whichever thread runs it.
  void begin(const Call& call) noexcept;
  /// Called by a backend when a call has ended, from the same thread. Tells the other ranks of an error.
  /// @return  The error as this rank's caller shall see it: one that names the culprit, as the control plane knows it.
  std::exception_ptr finish(const Call& call, std::exception_ptr error) noexcept;

  /// The error that the group has failed with, or null.
  [[nodiscard]] std::exception_ptr failure() const noexcept;
  /// Throws failure(), if there is one.
  void throw_if_failed() const;

  /// After this no do_abort() runs or will be called. A backend's destructor calls it first.
  void detach() noexcept;

  /// Blocks until the ranks that take part in `call` are known to have issued it alike; nothing where
  /// compares_messages(). For threads that run calls: what it throws is for finish().
  /// @throws MismatchError, PeerFailedError, TimeoutError
  void wait_until_agreed(const Call& call) const;
  /// The same for the caller's thread, once the call has ended: an error fails the group, as finish() would.
  void require_agreement_on(const Call& call);

 private:
  /// Runs `calls` in order; sends and recvs among them that follow each other, at the same time.
  /// @param calls  At least one; may be moved from.
  virtual Work do_issue(std::span<Call> calls, RunOn run_on) = 0;
  /// Whether the backend moves memory of `device`: host memory unless overridden.
  [[nodiscard]] virtual bool supports(Device device) const noexcept { return device.is_cpu(); }

  /// Whether each message says which collective it belongs to, and is refused by one who is in another. Where not, what
  /// ranks issue is compared through the control plane, beside the data.
  [[nodiscard]] virtual bool compares_messages() const noexcept { return true; }

  /// Wakes whatever the backend's threads wait in and makes it fail; called once, from any thread.
  virtual void do_abort() noexcept = 0;

  Work issue(Call call, const CollectiveOptions& options, const std::source_location& where) final;
  void open_group(const std::source_location& where) final;
  void check(const Call& call) const;
  std::uint64_t next_number(const Call& call);
  void subscribe_to_failures();
  void fail(std::exception_ptr error) noexcept;
  void require_agreement_on(const Fingerprint& call, const Deadline& deadline);
  [[nodiscard]] std::exception_ptr explain(const Fingerprint& call, const std::exception_ptr& error) const;

  struct CallGroup;
  class GroupedWork;
  struct State;  // what other threads touch
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
