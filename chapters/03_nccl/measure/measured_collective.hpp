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

/// Bus bandwidth over algorithm bandwidth: makes figures for any number of ranks comparable with the link's.
/// @source  NVIDIA, nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth".
[[nodiscard]] double bus_factor(comm::Collective collective, int world_size);

/// One collective on one group, to be run repeatedly. Not copyable. Thread safety: none.
class MeasuredCollective {
 public:
  /// Collective: allocates the memory that the group reduces fastest.
  /// @param group    Must outlive this object. @param exercise  The collective.
  /// @param bytes    Size of the whole buffer, as nccl-tests counts it: if ranks hold parts, of all parts together.
  /// @param device   Device of the buffers.
  MeasuredCollective(comm::ProcessGroup& group, const Exercise& exercise, std::int64_t bytes, Device device);

  /// `bytes`, rounded down to whole elements, equally many per rank, and at least one for each.
  [[nodiscard]] std::int64_t bytes() const noexcept { return count_ * width_; }

  /// Restores the input and fills the output with other values.
  void prepare();

  /// @return  Seconds of one collective, on this rank.
  [[nodiscard]] double run();

  /// Checks every element of run()'s result.
  /// @param name  The contender's, for the message.
  /// @throws Error  Names rank, contender, collective and element.
  void check(const std::string& name) const;

  /// Corrupts one element of the result; check() must find it.
  void spoil();

 private:
  enum class Role { kInput, kOutput };
  [[nodiscard]] bool has_parts() const noexcept;  // input and output are separate, and one consists of a part per rank
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
  std::shared_ptr<Storage> input_, output_;  // the same one if the collective works in place
};

}  // namespace lockstep::bandwidth
