#include "comm_mpi/mpi_process_group.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/host/host_process_group.hpp"
#include "comm/host/tcp_transport.hpp"
#include "comm/reduce.hpp"
#include "comm/rendezvous.hpp"
#include "comm_mpi/mpi_library.hpp"
#include "comm_mpi/mpi_types.hpp"
#include "store/store.hpp"

namespace lockstep::mpi_backend {
namespace {

class MpiProcessGroup final : public comm::HostProcessGroup {
 public:
  MpiProcessGroup(comm::JobContext context, const MpiOptions& options);
  ~MpiProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "mpi"; }

 private:
  void run_all_reduce(const Call& call) override;
  void run_broadcast(const Call& call) override;
  void run_reduce(const Call& call) override;
  void run_all_gather(const Call& call) override;
  void run_reduce_scatter(const Call& call) override;
  void run_barrier(const Call& call) override;
  void run_gather(const Call& call) override;
  void run_scatter(const Call& call) override;
  void run_all_to_all(const Call& call) override;
  void interrupt() noexcept override;
  // MPI matches collectives by order alone.
  [[nodiscard]] bool compares_messages() const noexcept override { return false; }
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override {
    return make_mpi_process_group(std::move(context), options_);
  }

  void meet(const std::string& group, const Deadline& deadline) const;
  [[nodiscard]] std::vector<int> exchange_mpi_ranks(const std::string& group, const Deadline& deadline) const;
  // Publishes `own` at this place in the store, and returns every rank's text.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& place, const std::string& own,
                                                  const Deadline& deadline) const;

  // Runs one non-blocking collective of MPI to its end.
  void run(const Call& call, const std::function<int(MPI_Request*)>& start);
  // The same for each part of call.values, passed to `start` as (first element, count).
  void run_in_parts(const Call& call, const std::function<int(void*, int, MPI_Request*)>& start);
  // For collectives that cannot be split: MPI's count of elements contributed by each rank.
  [[nodiscard]] int count_of(const Call& call) const;

  MpiOptions options_;
  MpiLibrary* mpi_ = nullptr;  // null if world_size is 1
  MPI_Comm communicator_ = MPI_COMM_NULL;
  comm::Transport* messages_ = nullptr;  // owned by the base class
  std::atomic<bool> is_interrupted_{false};
};

// Sends and recvs use our own messages: their headers name the operation, and a rank that has left is noticed.
MpiProcessGroup::MpiProcessGroup(comm::JobContext context, const MpiOptions& options)
    : HostProcessGroup(std::move(context)), options_(options) {
  require(options_.most_elements >= 1, "most_elements is ", options_.most_elements, ", not at least 1");
  constexpr std::int64_t kSegmentBytes = 256 * 1024;
  const std::string group = concat("mpi/", group_id());
  comm::warn_unauthenticated(this->context(), "mpi");
  if (world_size() > 1) {
    const std::string task = concat("rank ", this->context().global_rank(rank()), ": making a group of MPI");
    const MpiWait wait{Deadline::after(this->context().limits.join),
                       [&] { comm::throw_if_job_failed(this->context(), task); }};
    try {
      meet(group, wait.deadline);
      mpi_ = &MpiLibrary::instance(wait);
      communicator_ = mpi_->make_communicator(exchange_mpi_ranks(group, wait.deadline), group_id(), wait);
    } catch (const TimeoutError& error) {
      comm::tell_job_of(this->context(), error);
      throw;
    }
    mpi_->wait_at_exit_for(this->context().limits.progress);
  }
  auto messages = std::make_unique<comm::TcpTransport>(this->context(), group, std::set<int>{},
                                                       Deadline::after(this->context().limits.join));
  messages_ = messages.get();
  use(std::move(messages), kSegmentBytes);
}

MpiProcessGroup::~MpiProcessGroup() {
  // An exception that ends this rank ends the job: the others will not call MPI_Finalize.
  const bool is_unwinding = std::uncaught_exceptions() > 0;
  shutdown();
  if (mpi_ == nullptr) return;
  if (is_unwinding || failure()) mpi_->give_up();
  mpi_->free_communicator(communicator_);
}

std::vector<std::string> MpiProcessGroup::exchange(const std::string& place, const std::string& own,
                                                   const Deadline& deadline) const {
  const std::string prefix = concat("generation/", context().generation, "/", place, "/");
  context().store->set(concat(prefix, rank()), own);
  std::vector<std::string> all;
  for (int peer = 0; peer < world_size(); ++peer) {
    const std::string task = concat("rank ", context().global_rank(rank()), ": waiting for rank ",
                                    context().global_rank(peer), " to make its group of MPI");
    all.push_back(comm::get_or_fail(context(), concat(prefix, peer), task, deadline));
  }
  return all;
}

// MPI does not name missing ranks, so ranks enter it only after all have met here.
void MpiProcessGroup::meet(const std::string& group, const Deadline& deadline) const {
  (void)exchange(group + "/here", "yes", deadline);
}

// Maps the group's ranks to MPI's, through the store, so that the job may number its ranks differently from mpirun.
std::vector<int> MpiProcessGroup::exchange_mpi_ranks(const std::string& group, const Deadline& deadline) const {
  if (mpi_->world_size() < world_size()) {
    throw UnavailableError(
        concat("rank ", context().global_rank(rank()), " of ", world_size(), ": MPI knows ", mpi_->world_size(),
               mpi_->world_size() == 1 ? " process" : " processes",
               ": the ranks were started without mpirun, or by another one than this program's MPI; ",
               "start them with: mpirun -n ", world_size(), " PROGRAM ..."));
  }
  std::vector<int> ranks;
  for (const std::string& each : exchange(group + "/rank", std::to_string(mpi_->rank()), deadline)) {
    ranks.push_back(std::stoi(each));
  }
  return ranks;
}

void MpiProcessGroup::interrupt() noexcept {
  messages_->interrupt();
  is_interrupted_ = true;
}

void MpiProcessGroup::run(const Call& call, const std::function<int(MPI_Request*)>& start) {
  if (mpi_ != nullptr) mpi_->run(start, call.deadline, [this] { return is_interrupted_.load(); });
}

void MpiProcessGroup::run_in_parts(const Call& call, const std::function<int(void*, int, MPI_Request*)>& start) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  std::int64_t first = 0;
  do {  // once for an empty buffer too, so that ranks wait for each other
    const auto count = static_cast<int>(std::min<std::int64_t>(call.values.count - first, options_.most_elements));
    void* const data = values.data() + static_cast<std::size_t>(first) * bytes_of(call.values.dtype);
    run(call, [&](MPI_Request* request) { return start(data, count, request); });
    first += count;
  } while (first < call.values.count);
}

int MpiProcessGroup::count_of(const Call& call) const {
  require(call.count <= options_.most_elements, "MPI takes at most ", options_.most_elements,
          " elements per rank in one call, not ", call.count, ": make several calls");
  return static_cast<int>(call.count);
}

void MpiProcessGroup::run_barrier(const Call& call) {
  run(call, [this](MPI_Request* request) { return MPI_Ibarrier(communicator_, request); });
}

void MpiProcessGroup::run_all_reduce(const Call& call) {
  run_in_parts(call, [&](void* data, int count, MPI_Request* request) {
    const DType dtype = call.values.dtype;
    return MPI_Iallreduce(MPI_IN_PLACE, data, count, mpi_type(dtype), mpi_operation(dtype, call.op), communicator_,
                          request);
  });
  comm::finish_mean(call.values.data, call.values.count, call.values.dtype, call.op, world_size());
}

void MpiProcessGroup::run_reduce(const Call& call) {
  const bool is_root = rank() == call.root;
  run_in_parts(call, [&](void* data, int count, MPI_Request* request) {
    const DType dtype = call.values.dtype;
    return MPI_Ireduce(is_root ? MPI_IN_PLACE : data, is_root ? data : nullptr, count, mpi_type(dtype),
                       mpi_operation(dtype, call.op), call.root, communicator_, request);
  });
  if (is_root) comm::finish_mean(call.values.data, call.values.count, call.values.dtype, call.op, world_size());
}

void MpiProcessGroup::run_broadcast(const Call& call) {
  run_in_parts(call, [&](void* data, int count, MPI_Request* request) {
    return MPI_Ibcast(data, count, mpi_type(call.values.dtype), call.root, communicator_, request);
  });
}

void MpiProcessGroup::run_all_gather(const Call& call) {
  comm::copy_bytes(comm::part_of(call.values, rank(), world_size()), comm::bytes_of(call.input));
  run(call, [&, count = count_of(call)](MPI_Request* request) {
    return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, call.values.data, count, mpi_type(call.values.dtype),
                          communicator_, request);
  });
}

// The output may be a part of the input, which MPI does not allow: it gets a separate buffer.
void MpiProcessGroup::run_reduce_scatter(const Call& call) {
  const std::span<std::byte> output = comm::bytes_of(call.values);
  const DType dtype = call.values.dtype;
  if (world_size() == 1) return comm::copy_bytes(output, comm::bytes_of(call.input));
  std::vector<std::byte> sums(output.size());
  run(call, [&, count = count_of(call)](MPI_Request* request) {
    return MPI_Ireduce_scatter_block(call.input.data, sums.data(), count, mpi_type(dtype),
                                     mpi_operation(dtype, call.op), communicator_, request);
  });
  comm::copy_bytes(output, sums);
  comm::finish_mean(call.values.data, call.values.count, dtype, call.op, world_size());
}

void MpiProcessGroup::run_gather(const Call& call) {
  const bool is_root = rank() == call.root;
  if (is_root) comm::copy_bytes(comm::part_of(call.values, rank(), world_size()), comm::bytes_of(call.input));
  run(call, [&, count = count_of(call)](MPI_Request* request) {
    const MPI_Datatype type = mpi_type(call.input.dtype);
    return MPI_Igather(is_root ? MPI_IN_PLACE : call.input.data, count, type, is_root ? call.values.data : nullptr,
                       count, type, call.root, communicator_, request);
  });
}

void MpiProcessGroup::run_scatter(const Call& call) {
  const bool is_root = rank() == call.root;
  if (is_root) comm::copy_bytes(comm::bytes_of(call.values), comm::part_of(call.input, rank(), world_size()));
  run(call, [&, count = count_of(call)](MPI_Request* request) {
    const MPI_Datatype type = mpi_type(call.values.dtype);
    return MPI_Iscatter(is_root ? call.input.data : nullptr, count, type, is_root ? MPI_IN_PLACE : call.values.data,
                        count, type, call.root, communicator_, request);
  });
}

void MpiProcessGroup::run_all_to_all(const Call& call) {
  if (world_size() == 1) return comm::copy_bytes(comm::bytes_of(call.values), comm::bytes_of(call.input));
  run(call, [&, count = count_of(call)](MPI_Request* request) {
    const MPI_Datatype type = mpi_type(call.values.dtype);
    return MPI_Ialltoall(call.input.data, count, type, call.values.data, count, type, communicator_, request);
  });
}

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_mpi_process_group(comm::JobContext context, const MpiOptions& options) {
  return std::make_unique<MpiProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::mpi_backend
