#pragma once
/// @file
/// NCCL as a process group: collectives on a stream of their own, beside the kernels, watched so that none hangs.
#include <nccl.h>

#include <memory>
#include <string>

#include "03_nccl/group/communicator.hpp"
#include "comm/process_group_backend.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

class NcclCollectives;

/// What a rank tells NCCL; the defaults are right where each rank has a GPU of its own.
struct NcclOptions {
  Device device{};         ///< This rank's GPU; the CPU stands for the accelerator of number local_rank.
  bool share_gpu = false;  ///< Several ranks may have the same GPU: to see that results are right, never how fast.
};

/// Every collective is enqueued on the group's communication stream. Before it, that stream waits for the stream that
/// made the data; Work::wait(stream) makes a stream wait for it: the host only issues, and never waits. A thread of the
/// group, the watchdog, looks at what is in flight: where a rank dies, disagrees or stays away, it aborts the
/// communicator, so that nothing hangs, and everybody's error names the rank.
///
/// NCCL does not compare what ranks call. So each call is posted on the control plane; Work::synchronize() and
/// require_agreement() wait for the answer.
///
/// Host memory is moved too, through the device (a copy there and back): for the few numbers that programs exchange
/// beside tensors. Work::wait() of such a call blocks the host.
///
/// kMean is ncclSum, then divide(): NCCL's own average leaves open when it divides. min and max of NaN are as NCCL
/// computes them: not promised to propagate. traffic_sent() is zero: NCCL does not tell.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup.
/// @cost  On the GPU as NCCL's algorithm has it; the host enqueues in some 10 us.
class NcclProcessGroup final : public comm::ProcessGroupBackend {
 public:
  /// Compares devices, exchanges the unique id through the store and joins.
  /// @throws UnavailableError  There is no such device.
  /// @throws UsageError        Two ranks have the same GPU without share_gpu; names them.
  /// @throws TimeoutError, PeerFailedError  A rank does not come within context.limits.join.
  explicit NcclProcessGroup(comm::JobContext context, const NcclOptions& options = {});
  ~NcclProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "nccl"; }
  [[nodiscard]] comm::Traffic traffic_sent() const override { return {}; }
  /// Where this rank's tensors are.
  [[nodiscard]] Device device() const noexcept { return stream_.device(); }

 private:
  struct Task;     // one issued call, or several between group_start() and group_end()
  class Watchdog;  // the thread that looks at tasks in flight

  comm::Work do_issue(std::span<Call> calls, comm::RunOn run_on) override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override;
  [[nodiscard]] bool supports(Device device) const noexcept override {
    return device.is_cpu() || device == this->device();
  }
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
