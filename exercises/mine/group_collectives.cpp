#include "mine/group_collectives.hpp"

#include <memory>
#include <utility>

#include "base/error.hpp"

namespace lockstep::mine {
namespace {

// Exercises promise that an input is read by the call; the group reads it later.
comm::Buffer copy_of(std::span<const float> values) {
  const auto copy = std::make_shared<std::vector<float>>(values.begin(), values.end());
  comm::Buffer buffer = comm::host_buffer(std::span(*copy));
  buffer.keep_alive = copy;
  return buffer;
}

}  // namespace

exercise::Work GroupCollectives::all_reduce(std::span<float> values) {
  return wrapped(group_.all_reduce(comm::host_buffer(values)));
}

exercise::Work GroupCollectives::all_reduce(std::span<double> values) {
  return wrapped(group_.all_reduce(comm::host_buffer(values)));
}

exercise::Work GroupCollectives::broadcast(std::span<float> values, int root) {
  return wrapped(group_.broadcast(comm::host_buffer(values), root));
}

exercise::Work GroupCollectives::reduce_scatter(std::span<float> own, std::span<const float> all,
                                                exercise::ReduceOp op) {
  return wrapped(group_.reduce_scatter(comm::host_buffer(own), copy_of(all),
                                       op == exercise::ReduceOp::kMean ? comm::ReduceOp::kMean : comm::ReduceOp::kSum));
}

exercise::Work GroupCollectives::all_gather(std::span<float> all, std::span<const float> own) {
  return wrapped(group_.all_gather(comm::host_buffer(all), copy_of(own)));
}

std::vector<std::int64_t> GroupCollectives::gather_rows(std::span<const std::int64_t> row,
                                                        const std::source_location& /*where*/) {
  std::vector<std::int64_t> own(row.begin(), row.end()), rows(row.size() * static_cast<std::size_t>(world_size()));
  group_.all_gather(comm::host_buffer(std::span(rows)), comm::host_buffer(std::span(own))).synchronize();
  return rows;
}

void GroupCollectives::require_awaited(std::string_view function) {
  if (pending_ == 0) return;
  last_.synchronize();  // and with it all before: nobody may write to their memory after this function
  throw ContractError(concat(function, " has returned, and ", pending_,
                             " of its collectives have not been waited for: synchronize() each Work"));
}

exercise::Work GroupCollectives::wrapped(comm::Work work) {
  ++pending_;
  last_ = work;
  return exercise::Work([this, work = std::move(work)](const std::source_location& /*where*/) mutable {
    work.synchronize();
    --pending_;
  });
}

}  // namespace lockstep::mine
