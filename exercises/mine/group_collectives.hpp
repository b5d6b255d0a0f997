#pragma once
/// @file
/// The collectives of exercises, over a group of the library.
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
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

  /// Call it after a learner's function that must have waited for its collectives.
  /// @param function  For the message: "09.2: finish()".
  /// @throws ContractError  There are some whose Work nobody has synchronized. They are done then.
  void require_awaited(std::string_view function);

 private:
  exercise::Work wrapped(comm::Work work);

  comm::ProcessGroup& group_;
  comm::Work last_;  // issued
  int pending_ = 0;  // issued, and not synchronized
};

}  // namespace lockstep::mine
