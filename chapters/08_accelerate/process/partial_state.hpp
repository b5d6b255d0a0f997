#pragma once
/// @file
/// This process's place among the others, and joint operations that are not about training.
#include <concepts>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "comm/process_group.hpp"
#include "device/device.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::accelerate {

/// How ranks find each other and where they compute.
struct ProcessOptions {
  /// As for Device::for_rank(): with several GPUs, each rank takes its own. Empty: the launcher's choice
  /// (LOCKSTEP_DEVICE), else cpu.
  std::string device{};
  bool share_gpu = false;        ///< Ranks may share a GPU.
  bool bind_cores = false;       ///< Each rank stays on its share of the host's processors.
  std::string backend = "auto";  ///< One of backend::all_backends().
};

/// Lets the main process run a scope before the others, which wait in the constructor until it has left the scope. For
/// files that one process downloads or prepares and all of them read. If the main process leaves by an exception, the
/// group fails on all ranks.
class MainProcessFirst {
 public:
  /// @param group  Outlives this object. @throws  On the other processes: the main process's error.
  explicit MainProcessFirst(comm::ProcessGroup& group);
  ~MainProcessFirst();
  MainProcessFirst(const MainProcessFirst&) = delete;
  MainProcessFirst& operator=(const MainProcessFirst&) = delete;

 private:
  comm::ProcessGroup& group_;
  int exceptions_ = std::uncaught_exceptions();
};

/// This process's place in the job. Without a launcher's variables the job is this process alone; it then makes no
/// network access. Call functions marked "Collective" on all ranks, in the same order. Thread safety: one thread.
/// @source accelerate.PartialState, Hugging Face Accelerate 1.
class PartialState {
 public:
  /// Joins the job described by the environment, if there is one (launch::is_rank()). Collective.
  /// @throws  As comm::rendezvous(), Device::for_rank() and backend::make_process_group().
  explicit PartialState(const ProcessOptions& options = {});
  /// The same for a job already joined.
  PartialState(const ProcessOptions& options, comm::JobContext job);

  [[nodiscard]] int process_index() const noexcept { return group_->rank(); }
  [[nodiscard]] int num_processes() const noexcept { return group_->world_size(); }
  [[nodiscard]] int local_process_index() const noexcept { return group_->context().local_rank; }  ///< On this host.
  [[nodiscard]] bool is_main_process() const noexcept { return process_index() == 0; }  ///< Rank 0: prints and saves.
  /// The first rank of each host: for example, unpacks files on that host's disk.
  [[nodiscard]] bool is_local_main_process() const noexcept { return local_process_index() == 0; }
  [[nodiscard]] bool is_last_process() const noexcept { return process_index() + 1 == num_processes(); }  ///< Rank P-1.
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] comm::ProcessGroup& process_group() const noexcept { return *group_; }

  /// Writes the parts and a line feed to standard output, on the main process only.
  template <typename... Parts>
  void print(const Parts&... parts) const {
    if (is_main_process()) std::cout << concat(parts..., '\n') << std::flush;
  }

  /// Returns once all ranks have called it. Collective. @throws  As ProcessGroup::barrier().
  void wait_for_everyone() const;

  /// `const auto first = accelerator.main_process_first();`: the rest of the block runs on the main process, then on
  /// the others. Collective.
  [[nodiscard]] MainProcessFirst main_process_first() const { return MainProcessFirst(*group_); }

  /// This rank's part of a range that all ranks have: parts are contiguous, in rank order, and low ranks have one
  /// element more if parts cannot be equal. No communication.
  /// @param range  Lives as long as the result is used.
  template <std::ranges::random_access_range Range>
  requires std::ranges::sized_range<Range> && std::ranges::borrowed_range<Range>
  [[nodiscard]] auto split_between_processes(Range&& range) const {
    using Difference = std::ranges::range_difference_t<Range>;
    const auto [begin, end] = part_of(static_cast<std::int64_t>(std::ranges::size(range)));
    const auto first = std::ranges::begin(range);
    return std::ranges::subrange(first + static_cast<Difference>(begin), first + static_cast<Difference>(end));
  }

  /// The tensors of all ranks, concatenated along dimension 0 in rank order. Collective.
  /// @param tensor  [n, ...], of the same shape and dtype on all ranks; on the host or on device().
  /// @return        [P * n, ...], on the same device. A tensor without dimensions counts as one of shape [1].
  /// @throws MismatchError  Numbers of elements or dtypes differ.
  [[nodiscard]] Tensor gather(const Tensor& tensor) const;

  /// The element-wise reduction over all ranks, the same bits on each. Collective.
  /// @param tensor  Of the same shape and dtype on all ranks; unchanged.
  /// @param op      Any operation.
  [[nodiscard]] Tensor reduce(const Tensor& tensor, comm::ReduceOp op = comm::ReduceOp::kSum) const;
  /// The same for one number.
  template <typename Number>
  requires std::same_as<Number, double> || std::same_as<Number, std::int64_t>
  [[nodiscard]] Number reduce(Number value, comm::ReduceOp op = comm::ReduceOp::kSum) const {
    reduce_in_place(std::span(&value, 1), op);
    return value;
  }
  /// The same for several numbers, which are replaced.
  void reduce_in_place(std::span<double> values, comm::ReduceOp op = comm::ReduceOp::kSum) const;
  /// The same for whole numbers; kMean truncates towards zero.
  void reduce_in_place(std::span<std::int64_t> values, comm::ReduceOp op = comm::ReduceOp::kSum) const;

  /// Sets a flag that check_trigger() shows to all ranks: for example, to stop all ranks. Not collective.
  void set_trigger() noexcept { is_triggered_ = true; }
  /// Whether any rank has called set_trigger() since the last check; clears it. Collective.
  [[nodiscard]] bool check_trigger();

 private:
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> part_of(std::int64_t count) const noexcept;

  Device device_;
  std::unique_ptr<comm::ProcessGroup> group_;
  bool is_triggered_ = false;
};

}  // namespace lockstep::accelerate
