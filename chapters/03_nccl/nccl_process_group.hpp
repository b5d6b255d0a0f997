#pragma once
/// @file
/// NCCL as a process group: collectives on their own stream, concurrent with kernels, watched so that none hangs.
#include <nccl.h>

#include <memory>
#include <string>

#include "03_nccl/group/communicator.hpp"
#include "comm/process_group_backend.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

class NcclCollectives;

/// Options of a rank; the defaults suit ranks that each have their own GPU.
struct NcclOptions {
  Device device{};         ///< This rank's GPU; the CPU means accelerator number local_rank.
  bool share_gpu = false;  ///< Several ranks may have the same GPU: for checking results, not for timing.
};

/// Every collective is enqueued on the group's communication stream. Before it, that stream waits for the stream that
/// made the data; Work::wait(stream) makes a stream wait for the collective: the host only issues and never waits. A
/// thread of the group, the watchdog, checks the collectives in flight: if a rank dies, disagrees or is missing, it
/// aborts the communicator, so that nothing hangs, and the errors on all ranks name that rank.
///
/// NCCL does not compare the ranks' calls, so each call is posted on the control plane; Work::synchronize() and
/// require_agreement() wait for the answer.
///
/// Host memory works too, through the device (a copy there and back): for the few numbers that programs exchange
/// besides tensors. Work::wait() of such a call blocks the host.
///
/// kMean is ncclSum, then divide(): NCCL does not specify when its own average divides. min and max may not propagate
/// NaN in NCCL. traffic_sent() is zero, because NCCL does not report it.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup.
/// @cost  On the GPU that of NCCL's algorithm; the host enqueues in about 10 us.
class NcclProcessGroup final : public comm::ProcessGroupBackend {
 public:
  /// Compares devices, exchanges the unique id through the store and joins.
  /// @throws UnavailableError  The device does not exist.
  /// @throws UsageError        Two ranks have the same GPU without share_gpu; names them.
  /// @throws TimeoutError, PeerFailedError  A rank does not arrive within context.limits.join.
  explicit NcclProcessGroup(comm::JobContext context, const NcclOptions& options = {});
  ~NcclProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "nccl"; }
  [[nodiscard]] comm::Traffic traffic_sent() const override { return {}; }
  /// The device of this rank's tensors.
  [[nodiscard]] Device device() const noexcept { return stream_.device(); }

 private:
  struct Task;     // one issued call, or several between group_start() and group_end()
  class Watchdog;  // the thread that watches tasks in flight

  comm::Work do_issue(std::span<Call> calls, comm::RunOn run_on) override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override;
  void require_movable(Device device) override;
  [[nodiscard]] bool compares_messages() const noexcept override { return false; }
  void do_abort() noexcept override;

  [[nodiscard]] static std::size_t independent_calls(std::span<const Call> calls);
  void order_after_producers(const Task& task) const;
  void bring_host_memory(Task& task) const;
  void record_span(const Task& task) const;

  NcclOptions options_;
  Stream stream_;
  std::unique_ptr<NcclCollectives> collectives_;
  std::unique_ptr<Communicator> communicator_;
  std::shared_ptr<Watchdog> watchdog_;
};

/// @throws  As the constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_nccl_process_group(comm::JobContext context,
                                                                          const NcclOptions& options = {});

}  // namespace lockstep::nccl
