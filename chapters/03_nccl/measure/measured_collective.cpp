#include "03_nccl/measure/measured_collective.hpp"

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "base/timing.hpp"
#include "device/copy.hpp"

namespace lockstep::bandwidth {

using comm::Collective;

double bus_factor(Collective collective, int world_size) {
  const double ranks = world_size;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return (ranks - 1) / ranks;
    default:
      return 1;
  }
}

MeasuredCollective::MeasuredCollective(comm::ProcessGroup& group, const Exercise& exercise, std::int64_t bytes,
                                       Device device)
    : group_(group),
      exercise_(exercise),
      inputs_(exercise, group.world_size()),
      width_(static_cast<std::int64_t>(bytes_of(exercise.dtype))),
      count_(bytes / width_),
      device_(device) {
  const std::int64_t ranks = has_parts() ? group.world_size() : 1;
  count_ = std::max(count_ / ranks, std::int64_t{1}) * ranks;
  const auto bytes_in = [&](Role role) { return static_cast<std::size_t>(count_of(role) * width_); };
  contribution_.resize(bytes_in(Role::kInput));
  inputs_.fill(contribution_, group.rank());
  input_ = group.allocate(bytes_in(Role::kInput), device);
  output_ = has_parts() ? group.allocate(bytes_in(Role::kOutput), device) : input_;
  if (has_parts()) blank_.assign(bytes_in(Role::kOutput), std::byte{0xEE});
}

bool MeasuredCollective::has_parts() const noexcept {
  return exercise_.collective == Collective::kAllGather || exercise_.collective == Collective::kReduceScatter ||
         exercise_.collective == Collective::kAllToAll;
}

std::int64_t MeasuredCollective::count_of(Role role) const noexcept {
  const bool is_part = role == Role::kInput ? exercise_.collective == Collective::kAllGather
                                            : exercise_.collective == Collective::kReduceScatter;
  return is_part ? count_ / group_.world_size() : count_;
}

comm::Buffer MeasuredCollective::buffer(Role role) const {
  const std::shared_ptr<Storage>& storage = role == Role::kInput ? input_ : output_;
  return {storage->data(), count_of(role), exercise_.dtype, device_, storage};
}

void MeasuredCollective::prepare() {
  copy_memory({input_->data(), device_}, {contribution_.data(), Device{}}, contribution_.size());
  copy_memory({output_->data(), device_}, {blank_.data(), Device{}}, blank_.size());
}

comm::Work MeasuredCollective::issue() {
  const comm::Buffer input = buffer(Role::kInput), output = buffer(Role::kOutput);
  switch (exercise_.collective) {
    case Collective::kAllReduce:
      return group_.all_reduce(input, exercise_.op);
    case Collective::kBroadcast:
      return group_.broadcast(input, 0);
    case Collective::kReduce:
      return group_.reduce(input, 0, exercise_.op);
    case Collective::kAllGather:
      return group_.all_gather(output, input);
    case Collective::kReduceScatter:
      return group_.reduce_scatter(output, input, exercise_.op);
    case Collective::kAllToAll:
      return group_.all_to_all(output, input);
    default:
      throw ContractError(concat(name_of(exercise_.collective), " is not measured"));
  }
}

double MeasuredCollective::run() {
  const Stopwatch stopwatch;
  issue().synchronize();
  return stopwatch.seconds();
}

std::optional<WrongElement> MeasuredCollective::first_wrong(std::span<const std::byte> values) const {
  const int rank = group_.rank(), world_size = group_.world_size();
  const std::int64_t part = count_ / world_size;
  switch (exercise_.collective) {
    case Collective::kAllReduce:
      return inputs_.difference_to_reduction(values);
    case Collective::kBroadcast:
      return inputs_.difference_to_rank(values, 0);
    case Collective::kReduce:  // on other ranks the input stays unchanged
      return rank == 0 ? inputs_.difference_to_reduction(values) : inputs_.difference_to_rank(values, rank);
    case Collective::kReduceScatter:
      return inputs_.difference_to_reduction(values, rank * part);
    default:
      break;
  }
  // all_gather: part r is rank r's whole input; all_to_all: the part of rank r's input for this rank.
  const std::int64_t first = exercise_.collective == Collective::kAllToAll ? rank * part : 0;
  for (int from = 0; from < world_size; ++from) {
    const auto begin = static_cast<std::size_t>(from * part * width_);
    auto wrong =
        inputs_.difference_to_rank(values.subspan(begin, static_cast<std::size_t>(part * width_)), from, first);
    if (!wrong) continue;
    wrong->index += from * part;
    return wrong;
  }
  return std::nullopt;
}

void MeasuredCollective::check(const std::string& name) const {
  std::vector<std::byte> values(static_cast<std::size_t>(count_of(Role::kOutput) * width_));
  copy_memory({values.data(), Device{}}, {output_->data(), device_}, values.size());
  const std::optional<WrongElement> wrong = first_wrong(values);
  if (!wrong) return;
  throw Error(concat("rank ", group_.rank(), ": ", name, ": ", name_of(exercise_.collective), " of ", bytes(),
                     " bytes: element ", wrong->index, " is ", wrong->is, ", expected ", wrong->expected));
}

void MeasuredCollective::spoil() {
  const std::int64_t offset = count_of(Role::kOutput) / 2 * width_;
  std::vector<std::byte> element(static_cast<std::size_t>(width_));
  const Place place{output_->data() + offset, device_}, own{element.data(), Device{}};
  copy_memory(own, place, element.size());
  element.back() ^= std::byte{0x40};  // in a floating-point number, the upper half of the exponent
  copy_memory(place, own, element.size());
}

}  // namespace lockstep::bandwidth
