#include "08_accelerate/process/partial_state.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "08_accelerate/process/launch_settings.hpp"
#include "base/affinity.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "launch/cores.hpp"
#include "launch/spawn.hpp"

namespace lockstep::accelerate {
namespace {

comm::JobContext join_job() {
  if (launch::is_rank()) return comm::rendezvous("env://");
  comm::JobContext alone;
  return alone;
}

std::string device_of(const ProcessOptions& options) {
  return options.device.empty() ? launched_device().value_or("cpu") : options.device;
}

// The shape of the ranks' tensors stacked along dimension 0; a scalar counts as one row.
Shape stacked_shape(const Shape& shape, int world_size) {
  if (shape.rank() == 0) return {world_size};
  std::vector<std::int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  dimensions.front() *= world_size;
  return Shape(dimensions);
}

}  // namespace

MainProcessFirst::MainProcessFirst(comm::ProcessGroup& group) : group_(group) {
  if (group_.rank() != 0) group_.barrier().synchronize();
}

MainProcessFirst::~MainProcessFirst() {
  if (group_.rank() != 0) return;
  try {
    if (std::uncaught_exceptions() > exceptions_) {
      group_.abort("it has left main_process_first() by an exception");
    } else {
      group_.barrier().synchronize();
    }
  } catch (const std::exception& error) {
    group_.context().log.warning(concat("main_process_first: ", error.what()));  // the group's next call throws it, too
  }
}

PartialState::PartialState(const ProcessOptions& options) : PartialState(options, join_job()) {}

PartialState::PartialState(const ProcessOptions& options, comm::JobContext job)
    : device_(Device::for_rank(device_of(options), {job.local_rank, options.share_gpu})) {
  if (options.bind_cores) restrict_to_cpus(launch::share_of_cpus(job.local_rank, job.local_world_size));
  group_ =
      backend::make_process_group(options.backend, std::move(job), {.device = device_, .share_gpu = options.share_gpu});
}

void PartialState::wait_for_everyone() const { group_->barrier().synchronize(); }

std::pair<std::int64_t, std::int64_t> PartialState::part_of(std::int64_t count) const noexcept {
  const std::int64_t rank = process_index(), each = count / num_processes(), longer = count % num_processes();
  const std::int64_t begin = rank * each + std::min(rank, longer);
  return {begin, begin + each + (rank < longer ? 1 : 0)};
}

Tensor PartialState::gather(const Tensor& tensor) const {
  require(tensor.is_defined(), "gather: the tensor is undefined");
  const Tensor all = Tensor::empty(stacked_shape(tensor.shape(), num_processes()), tensor.dtype(), tensor.device());
  group_->all_gather(comm::buffer_of(all), comm::buffer_of(tensor)).synchronize();
  return all;
}

Tensor PartialState::reduce(const Tensor& tensor, comm::ReduceOp op) const {
  require(tensor.is_defined(), "reduce: the tensor is undefined");
  Tensor result = tensor.clone();
  group_->all_reduce(comm::buffer_of(result), op).synchronize();
  return result;
}

void PartialState::reduce_in_place(std::span<double> values, comm::ReduceOp op) const {
  group_->all_reduce(comm::host_buffer(values), op).synchronize();
}

void PartialState::reduce_in_place(std::span<std::int64_t> values, comm::ReduceOp op) const {
  group_->all_reduce(comm::host_buffer(values), op).synchronize();
}

bool PartialState::check_trigger() {
  const auto wish = static_cast<std::int64_t>(std::exchange(is_triggered_, false));
  return reduce(wish) > 0;
}

}  // namespace lockstep::accelerate
