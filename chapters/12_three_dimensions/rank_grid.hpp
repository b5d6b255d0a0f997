#pragma once
/// @file
/// The places of a job's ranks when they divide a model in three ways at once.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grid {

/// A dimension of the work that ranks divide among themselves. Ranks that differ in their place on one axis only form a
/// *line* of that axis, and a line is a group.
enum class Axis {
  kPipeline,  ///< The blocks (chapter 11): neighbours send each other activations, once a micro-batch.
  kData,      ///< The samples (chapters 06 and 09): all sum gradients, once a step.
  kTensor,    ///< Every matrix (chapter 10): all sum activations, several times a block.
};

/// From the slowest-changing axis to the fastest.
inline constexpr std::array kAxes = {Axis::kPipeline, Axis::kData, Axis::kTensor};

/// "pipeline", "data", "tensor".
[[nodiscard]] std::string_view name_of(Axis axis) noexcept;

/// The numbers of ranks along each axis.
struct GridShape {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;

  [[nodiscard]] int along(Axis axis) const noexcept;
  /// Of all axes together.
  [[nodiscard]] int ranks() const noexcept { return pipeline * data * tensor; }
  bool operator==(const GridShape&) const = default;
};

/// The shape of a job with `tensor` and `pipeline` ranks for one model. All others share the samples.
/// @throws UsageError  "6 ranks are no multiple of --tensor 2 x --pipeline 2; use 4 or 8"; a number is below 1.
[[nodiscard]] GridShape shape_of(int world_size, int tensor, int pipeline);

/// A rank's place on each axis, from 0.
struct Place {
  int pipeline = 0;  ///< Also called its stage.
  int data = 0;
  int tensor = 0;

  [[nodiscard]] int along(Axis axis) const noexcept;
  /// "pipeline 1, data 0, tensor 1"
  [[nodiscard]] std::string text() const;
  bool operator==(const Place&) const = default;
};

/// One rank's view of the grid. Rank (pipeline D + data) T + tensor, with D and T ranks along the data and the tensor
/// axis, has a place. So tensor ranks, which talk most, are neighbours on one host, and stages of a pipeline, which
/// send to their neighbours only, and compute meanwhile, are farthest apart.
///
/// Arithmetic only. A value type.
/// @source  Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021,
///          section 3.
class RankGrid {
 public:
  /// @param rank  Of this process, in [0, world_size).
  /// @throws ContractError  The shape has other than `world_size` ranks, or there is no such rank.
  RankGrid(const GridShape& shape, int rank, int world_size);

  [[nodiscard]] const GridShape& shape() const noexcept { return shape_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] Place place() const noexcept { return place_of(rank_); }  ///< Of this rank.
  /// @param rank  In [0, shape().ranks()).
  [[nodiscard]] Place place_of(int rank) const noexcept;
  /// @throws ContractError  The place is outside the grid.
  [[nodiscard]] int rank_at(const Place& place) const;

  /// The ranks of this rank's line, by their place on the axis. Ascending; this rank is one of them.
  [[nodiscard]] std::vector<int> line(Axis axis) const { return line_of(rank_, axis); }
  /// The same of any rank.
  [[nodiscard]] std::vector<int> line_of(int rank, Axis axis) const;
  /// All lines of an axis, by their first ranks. Each rank is in one of them.
  [[nodiscard]] std::vector<std::vector<int>> lines(Axis axis) const;

 private:
  GridShape shape_;
  int rank_;
};

/// The name of a line's group: "tensor{4,5}", or "data{0,8,...,56}" if there are more than 4 ranks.
[[nodiscard]] std::string group_name(Axis axis, std::span<const int> line);

/// Tensor ranks exchange activations within each layer, which only the links of one host are fast enough for.
/// @param hosts  By rank: a name of its host.
/// @throws UsageError  "tensor ranks 3, 4 are on different hosts: ..."
void require_tensor_on_one_host(const RankGrid& grid, std::span<const std::string> hosts);

}  // namespace lockstep::grid
