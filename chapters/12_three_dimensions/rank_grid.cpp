#include "12_three_dimensions/rank_grid.hpp"

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"

namespace lockstep::grid {
namespace {

constexpr std::size_t kMostListed = 4;

int along(Axis axis, int pipeline, int data, int tensor) {
  switch (axis) {
    case Axis::kPipeline:
      return pipeline;
    case Axis::kData:
      return data;
    case Axis::kTensor:
      return tensor;
  }
  return 0;
}

}  // namespace

std::string_view name_of(Axis axis) noexcept {
  switch (axis) {
    case Axis::kPipeline:
      return "pipeline";
    case Axis::kData:
      return "data";
    case Axis::kTensor:
      return "tensor";
  }
  return "";
}

int GridShape::along(Axis axis) const noexcept { return grid::along(axis, pipeline, data, tensor); }

int Place::along(Axis axis) const noexcept { return grid::along(axis, pipeline, data, tensor); }

std::string Place::text() const { return concat("pipeline ", pipeline, ", data ", data, ", tensor ", tensor); }

GridShape shape_of(int world_size, int tensor, int pipeline) {
  if (tensor < 1 || pipeline < 1)
    throw UsageError(concat("--tensor ", tensor, " x --pipeline ", pipeline, ": a model is on at least 1 rank"));
  const std::int64_t ranks_of_model = std::int64_t{tensor} * pipeline;
  if (world_size < 1 || world_size % ranks_of_model != 0) {
    const std::int64_t fewer = world_size / ranks_of_model * ranks_of_model;
    throw UsageError(concat(world_size, world_size == 1 ? " rank is" : " ranks are", " no multiple of --tensor ",
                            tensor, " x --pipeline ", pipeline, "; use ", fewer > 0 ? concat(fewer, " or ") : "",
                            fewer + ranks_of_model));
  }
  return {.pipeline = pipeline, .data = static_cast<int>(world_size / ranks_of_model), .tensor = tensor};
}

RankGrid::RankGrid(const GridShape& shape, int rank, int world_size) : shape_(shape), rank_(rank) {
  require(shape.pipeline >= 1 && shape.data >= 1 && shape.tensor >= 1 && shape.ranks() == world_size, "a grid of ",
          shape.pipeline, " x ", shape.data, " x ", shape.tensor, " does not have ", world_size, " ranks");
  require(rank >= 0 && rank < world_size, "a grid of ", world_size, " ranks has no rank ", rank);
}

Place RankGrid::place_of(int rank) const noexcept {
  return {.pipeline = rank / (shape_.data * shape_.tensor),
          .data = rank / shape_.tensor % shape_.data,
          .tensor = rank % shape_.tensor};
}

int RankGrid::rank_at(const Place& place) const {
  for (const Axis axis : kAxes)
    require(place.along(axis) >= 0 && place.along(axis) < shape_.along(axis), "a grid of ", shape_.pipeline, " x ",
            shape_.data, " x ", shape_.tensor, " has no place ", place.text());
  return (place.pipeline * shape_.data + place.data) * shape_.tensor + place.tensor;
}

std::vector<int> RankGrid::line_of(int rank, Axis axis) const {
  Place place = place_of(rank);
  int& moving = axis == Axis::kPipeline ? place.pipeline : axis == Axis::kData ? place.data : place.tensor;
  std::vector<int> ranks;
  for (moving = 0; moving < shape_.along(axis); ++moving) ranks.push_back(rank_at(place));
  return ranks;
}

std::vector<std::vector<int>> RankGrid::lines(Axis axis) const {
  std::vector<std::vector<int>> all;
  for (int rank = 0; rank < shape_.ranks(); ++rank)
    if (place_of(rank).along(axis) == 0) all.push_back(line_of(rank, axis));
  return all;
}

std::string group_name(Axis axis, std::span<const int> line) {
  std::string ranks;
  const bool is_short = line.size() <= kMostListed;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_short && i == 2) ranks += ",...";
    if (is_short || i < 2 || i + 1 == line.size()) ranks += concat(ranks.empty() ? "" : ",", line[i]);
  }
  return concat(name_of(axis), "{", ranks, "}");
}

void require_tensor_on_one_host(const RankGrid& grid, std::span<const std::string> hosts) {
  require(std::ssize(hosts) == grid.shape().ranks(), "a grid of ", grid.shape().ranks(), " ranks on ", hosts.size(),
          " hosts' names");
  const auto host_of = [&](int rank) -> const std::string& { return hosts[static_cast<std::size_t>(rank)]; };
  for (const std::vector<int>& line : grid.lines(Axis::kTensor)) {
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (host_of(line[i - 1]) == host_of(line[i])) continue;
      throw UsageError(concat("tensor ranks ", line[i - 1], ", ", line[i], " are on different hosts: take a --tensor ",
                              "that divides the number of ranks on each host"));
    }
  }
}

}  // namespace lockstep::grid
