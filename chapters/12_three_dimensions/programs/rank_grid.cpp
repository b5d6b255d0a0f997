// rank_grid: the places of a job's ranks in three dimensions, and the groups that they form. Started as ranks, with
// --nproc, it makes the groups, and each of them adds up numbers that say whom they come from.
#include "12_three_dimensions/rank_grid.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "12_three_dimensions/grid_groups.hpp"
#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "comm/joining/job_environment.hpp"
#include "comm/objects.hpp"
#include "comm/rendezvous.hpp"

namespace {

using namespace lockstep;
using grid::Axis;
using grid::GridShape;
using grid::RankGrid;

constexpr std::size_t kColumns = 80;
constexpr int kMostRows = 16;
constexpr int kMostSummed = 20;  // ranks: 3 bits of a sum for each

struct Options {
  int world_size = 8;
  int tensor = 2;
  int pipeline = 2;
  int ranks_per_host = 0;  // 0: all
  int kill = -1;
};

// "[0 1]", or "[0-7]": ranks of a tensor line follow each other.
std::string cell_of(const std::vector<int>& line) {
  if (line.size() > 4) return concat("[", line.front(), "-", line.back(), "]");
  std::string ranks;
  for (const int rank : line) ranks += concat(ranks.empty() ? "" : " ", rank);
  return "[" + ranks + "]";
}

// As many words as fit into the columns.
std::string fitted(std::string text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (text.size() + word.size() + 4 > kColumns) return text + "...";
    text += word + " ";
  }
  return text;
}

std::string without_blanks_at_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// A row for each place on the pipeline, a column for each on the data axis.
void print_places(const RankGrid& grid) {
  const GridShape& shape = grid.shape();
  const std::size_t width = cell_of(grid.line_of(shape.ranks() - 1, Axis::kTensor)).size() + 1;
  const auto padded = [&](std::string text) { return text + std::string(width - std::min(width, text.size()), ' '); };
  for (int row = -1; row < shape.pipeline && row < kMostRows; ++row) {
    std::vector<std::string> cells;
    for (int column = 0; column < shape.data; ++column) {
      const std::string heading = concat(width >= 8 ? "data " : "", column);
      cells.push_back(padded(row < 0 ? heading : cell_of(grid.line_of(grid.rank_at({row, column, 0}), Axis::kTensor))));
    }
    std::string name = row < 0 ? (width >= 8 ? "" : "data") : concat("pipeline ", row);
    name.resize(14, ' ');
    std::cout << without_blanks_at_end(fitted(name, cells)) << '\n';
  }
  if (shape.pipeline > kMostRows) std::cout << "... pipeline " << shape.pipeline - 1 << '\n';
}

const char* division_of(Axis axis) {
  switch (axis) {
    case Axis::kPipeline:
      return "other blocks; activations in every micro-batch";
    case Axis::kData:
      return "the same weights, other samples; gradients once a step";
    case Axis::kTensor:
      return "parts of the same matrices; sums in every block";
  }
  return "";
}

// "within hosts" or "across hosts".
std::string reach_of(const std::vector<std::vector<int>>& lines, int ranks_per_host) {
  const bool is_within = std::ranges::all_of(lines, [&](const std::vector<int>& line) { return line.front() / ranks_per_host == line.back() / ranks_per_host; });
  return is_within ? "within hosts" : "across hosts";
}

void print_lines(const RankGrid& grid, int ranks_per_host) {
  for (const Axis axis : {Axis::kTensor, Axis::kData, Axis::kPipeline}) {
    const std::vector<std::vector<int>> lines = grid.lines(axis);
    std::vector<std::string> names;
    for (const std::vector<int>& line : lines) names.push_back(grid::group_name(axis, line).substr(grid::name_of(axis).size()));
    std::cout << '\n'
              << grid::name_of(axis) << ", " << reach_of(lines, ranks_per_host) << ": " << division_of(axis) << '\n'
              << without_blanks_at_end(fitted("  ", names)) << '\n';
  }
}

int ranks_of_host(const GridShape& shape, const Options& options) {
  return options.ranks_per_host > 0 ? options.ranks_per_host : shape.ranks();
}

// The grid of `ranks`, as rank `rank` sees it. All ranks find the same error.
RankGrid grid_of(const Options& options, int rank, int ranks) {
  const RankGrid grid(grid::shape_of(ranks, options.tensor, options.pipeline), rank, ranks);
  std::vector<std::string> hosts;
  for (int each = 0; each < ranks; ++each) hosts.push_back(std::to_string(each / ranks_of_host(grid.shape(), options)));
  grid::require_tensor_on_one_host(grid, hosts);
  return grid;
}

void print_grid(const RankGrid& grid, int per_host) {
  const GridShape& shape = grid.shape();
  std::cout << counted(shape.ranks(), "rank") << " = pipeline " << shape.pipeline << " x data " << shape.data << " x tensor " << shape.tensor
            << ", on " << (shape.ranks() + per_host - 1) / per_host << (per_host < shape.ranks() ? " hosts" : " host") << '\n'
            << "from one rank to the next, tensor changes first, then data, then pipeline\n\n";
  print_places(grid);
  print_lines(grid, per_host);
}

// In base 8 a digit for each rank, the last one for rank 0: how often it is in the sum.
std::string digits_of(std::int64_t sum, int ranks) {
  std::string digits;
  for (int rank = 0; rank < ranks; ++rank, sum /= 8) digits.insert(0, std::to_string(sum % 8));
  return digits;
}

// Rank r contributes 8^r to the sum of each of its groups. @return  By axis.
nlohmann::json sums_of(const RankGrid& grid, const grid::GridGroups& groups) {
  nlohmann::json sums;
  for (const Axis axis : grid::kAxes) {
    std::int64_t sum = std::int64_t{1} << (3 * grid.rank());
    groups.along(axis).all_reduce(comm::host_buffer(std::span(&sum, 1))).synchronize();
    sums[std::string(grid::name_of(axis))] = sum;
  }
  return sums;
}

void print_sums(const RankGrid& grid, const std::vector<nlohmann::json>& sums) {
  TextTable table;
  table.add({"sums of 8^rank, in base 8", "tensor", "data", "pipeline"});
  for (int rank = 0; rank < grid.shape().ranks(); ++rank) {
    std::vector<std::string> row = {concat("rank ", rank)};
    for (const char* axis : {"tensor", "data", "pipeline"}) row.push_back(digits_of(sums[static_cast<std::size_t>(rank)].at(axis), grid.shape().ranks()));
    table.add(row);
  }
  std::cout << '\n'
            << table.text();
}

int run_rank(const Options& options) {
  const comm::JobContext job = comm::rendezvous("env://");
  const RankGrid grid = grid_of(options, job.rank, job.world_size);
  const auto world = backend::make_process_group("auto", job);
  try {
    const grid::GridGroups groups = grid::split(*world, grid);
    if (job.rank == 0) print_grid(grid, ranks_of_host(grid.shape(), options));
    if (job.rank == options.kill) std::raise(SIGKILL);
    const std::vector<nlohmann::json> sums = comm::all_gather_object(*world, sums_of(grid, groups));
    if (job.rank == 0) print_sums(grid, sums);
  } catch (const Error&) {
    grid::rethrow_with_place(grid);
  }
  return 0;
}

int run(const Options& options) {
  const int ranks = comm::read_place(environment::get).world_size.value_or(1);
  if (ranks > kMostSummed) throw UsageError(concat("the sums are for at most ", kMostSummed, " ranks; without --nproc, --world draws larger grids"));
  const RankGrid grid = grid_of(options, 0, ranks > 1 ? ranks : options.world_size);  // before ranks wait for one another
  if (ranks > 1) return run_rank(options);
  print_grid(grid, ranks_of_host(grid.shape(), options));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Shows the places of ranks in three dimensions, and their groups; with --nproc, makes and tries the groups");
  Options options;
  app.add_option("--world", options.world_size, "Ranks to draw; as ranks (--nproc) it draws these").check(whole_number(1, 100'000));
  app.add_option("--tensor", options.tensor, "Ranks that divide every matrix").check(whole_number(1, 1024));
  app.add_option("--pipeline", options.pipeline, "Ranks that divide the blocks").check(whole_number(1, 1024));
  app.add_option("--ranks-per-host", options.ranks_per_host, "Ranks on each host (all, if left out)")
      .check(whole_number(1, 100'000))
      .without_default();
  app.add_option("--kill", options.kill, "With --nproc: this rank is killed when the groups have been made")
      .check(whole_number(0, kMostSummed))
      .without_default();
  return run_main(app, argc, argv, [&] { return run(options); });
}
