#pragma once
/// @file
/// The collectives of exercises, over a group of the library.
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "comm/process_group.hpp"
#include "exercise/collectives.hpp"

namespace lockstep::mine {

/// Each call is that of the group, in host memory. Halves of an all-reduce copy their input, since exercises promise
/// that the call reads it. Thread safety: one thread.
class GroupCollectives final : public exercise::ShardCollectives {
 public:
  /// @param group  Outlives this object and every Work that it has returned.
  explicit GroupCollectives(comm::ProcessGroup& group) : group_(group) {}

  [[nodiscard]] int rank() const noexcept override { return group_.rank(); }
  [[nodiscard]] int world_size() const noexcept override { return group_.world_size(); }
  [[nodiscard]] exercise::Work all_reduce(std::span<float> values) override;
  [[nodiscard]] exercise::Work all_reduce(std::span<double> values) override;
  [[nodiscard]] exercise::Work broadcast(std::span<float> values, int root) override;
  [[nodiscard]] exercise::Work reduce_scatter(std::span<float> own, std::span<const float> all,
                                              exercise::ReduceOp op) override;
  [[nodiscard]] exercise::Work all_gather(std::span<float> all, std::span<const float> own) override;
  [[nodiscard]] std::vector<std::int64_t> gather_rows(
      std::span<const std::int64_t> row, const std::source_location& where = std::source_location::current()) override;

  /// How many collectives have been issued whose Work nobody has synchronized yet.
  [[nodiscard]] int pending() const noexcept { return pending_; }

 private:
  exercise::Work wrapped(comm::Work work);

  comm::ProcessGroup& group_;
  int pending_ = 0;
};

}  // namespace lockstep::mine
