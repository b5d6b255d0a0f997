#pragma once
/// @file
/// One collective with its buffers: filled, run and checked.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "03_nccl/measure/exact_inputs.hpp"
#include "comm/process_group.hpp"

namespace lockstep::bandwidth {

/// Bus bandwidth over algorithm bandwidth: what makes figures of different numbers of ranks comparable with the link's.
/// @source  NVIDIA, nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth".
[[nodiscard]] double bus_factor(comm::Collective collective, int world_size);

/// A collective on one group, over and over. Not copyable. Thread safety: none.
class MeasuredCollective {
 public:
  /// Collective: allocates what the group reduces best.
  /// @param group    Must outlive this. @param exercise  What to run.
  /// @param bytes    Of the whole buffer, as nccl-tests counts: where ranks hold parts, of all parts together.
  /// @param device   Whose memory is moved.
  MeasuredCollective(comm::ProcessGroup& group, const Exercise& exercise, std::int64_t bytes, Device device);

  /// What is moved: `bytes`, rounded down to whole elements, and to as many for each rank; at least one for each.
  [[nodiscard]] std::int64_t bytes() const noexcept { return count_ * width_; }

  /// Makes the input what it is at first, and the output something else.
  void prepare();

  /// @return  Seconds of the one collective, on this rank.
  [[nodiscard]] double run();

  /// Every element of what run() has left.
  /// @param name  Of the contender, for the message.
  /// @throws Error  Names rank, contender, collective and element.
  void check(const std::string& name) const;

  /// Changes an element of the result: check() must find it.
  void spoil();

 private:
  enum class Role { kInput, kOutput };
  [[nodiscard]] bool has_parts() const noexcept;  // input and output are apart, and one is made of parts by rank
  [[nodiscard]] std::int64_t count_of(Role role) const noexcept;
  [[nodiscard]] comm::Buffer buffer(Role role) const;
  [[nodiscard]] std::optional<WrongElement> first_wrong(std::span<const std::byte> values) const;
  comm::Work issue();

  comm::ProcessGroup& group_;
  Exercise exercise_;
  ExactInputs inputs_;
  std::int64_t width_, count_;
  Device device_;
  std::vector<std::byte> contribution_, blank_;
  std::shared_ptr<Storage> input_, output_;  // the same one where the collective works in place
};

}  // namespace lockstep::bandwidth
