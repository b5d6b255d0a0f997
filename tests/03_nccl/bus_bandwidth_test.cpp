// bus_bandwidth: what it computes, prints, refuses and records; and that its check can fail.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "03_nccl/measure/exact_inputs.hpp"
#include "03_nccl/measure/measured_collective.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using bandwidth::ExactInputs;
using comm::Collective;
using comm::ReduceOp;

namespace {

test::Finished run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), test::built_program("bus_bandwidth"));
  // The tests may themselves have been started by a launcher.
  return test::run_program(arguments, {{"RANK", ""}, {"WORLD_SIZE", ""}, {"LOCKSTEP_STORE", ""}});
}

std::vector<float> contribution(const ExactInputs& inputs, int rank, std::int64_t first, std::size_t count) {
  std::vector<float> values(count);
  inputs.fill(std::as_writable_bytes(std::span(values)), rank, first);
  return values;
}

}  // namespace

TEST_CASE("bus bandwidth is algorithm bandwidth times nccl-tests' factor", "[nccl][chapter]") {
  CHECK(bandwidth::bus_factor(Collective::kAllReduce, 4) == 1.5);
  CHECK(bandwidth::bus_factor(Collective::kAllReduce, 2) == 1);
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll})
    CHECK(bandwidth::bus_factor(collective, 4) == 0.75);
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce})
    CHECK(bandwidth::bus_factor(collective, 4) == 1);
}

TEST_CASE("exact inputs differ by rank and place, and their sum is known in every element", "[nccl][chapter]") {
  const ExactInputs inputs({}, 3);
  constexpr std::size_t kCount = 10'000;  // more than two periods
  std::vector<float> sum(kCount);
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<float> own = contribution(inputs, rank, 0, kCount);
    std::ranges::transform(sum, own, sum.begin(), std::plus<>());
    CHECK(own != contribution(inputs, (rank + 1) % 3, 0, kCount));
    CHECK(own != contribution(inputs, rank, 1, kCount));
    CHECK_FALSE(inputs.difference_to_rank(std::as_bytes(std::span(own)), rank));
    CHECK(contribution(inputs, rank, 5000, 3) == std::vector(own.begin() + 5000, own.begin() + 5003));
  }
  CHECK_FALSE(inputs.difference_to_reduction(std::as_bytes(std::span(sum))));
  CHECK_FALSE(inputs.difference_to_reduction(std::as_bytes(std::span(sum).subspan(4095)), 4095));

  sum[9'999] += 1;
  const auto wrong = inputs.difference_to_reduction(std::as_bytes(std::span(sum)));
  REQUIRE(wrong);
  CHECK(wrong->index == 9'999);
  CHECK(wrong->is == wrong->expected + 1);
}

TEST_CASE("a mean may round twice, a sum not at all", "[nccl][chapter]") {
  const ExactInputs mean({Collective::kAllReduce, DType::kFloat32, ReduceOp::kMean}, 3);
  std::vector<float> values(100);
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<float> own = contribution(mean, rank, 0, values.size());
    std::ranges::transform(values, own, values.begin(), std::plus<>());
  }
  for (float& value : values) value *= 1.0F / 3;  // NCCL may scale like this
  CHECK_FALSE(mean.difference_to_reduction(std::as_bytes(std::span(values))));
  for (float& value : values) value *= 1 + 0x1p-21F;  // four times what is allowed
  CHECK(mean.difference_to_reduction(std::as_bytes(std::span(values))));
}

TEST_CASE("bus_bandwidth checks every collective, type and operation on the backends of this build",
          "[nccl][chapter][multirank]") {
  const std::string all = "all_reduce,reduce_scatter,all_gather,all_to_all,broadcast,reduce";
  const auto [dtype, op, ranks] = GENERATE(table<std::string, std::string, std::string>({{"float32", "sum", "3"},
                                                                                         {"bfloat16", "sum", "4"},
                                                                                         {"int64", "product", "2"},
                                                                                         {"float64", "mean", "3"},
                                                                                         {"int32", "max", "1"}}));
  CAPTURE(dtype, op, ranks);
  const test::Finished finished =
      run({"--collectives", all, "--dtype", dtype, "--op", op, "--world-size", ranks, "--repeat", "2", "--warmup", "1",
           "--min-bytes", "40", "--max-bytes", "40000", "--factor", "1000"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("all_to_all, " + dtype + ", " + ranks + " ranks; all elements right") &&
                               ContainsSubstring("reduce_scatter, " + op + " of " + dtype) &&
                               ContainsSubstring("star") && ContainsSubstring("ring") &&
                               ContainsSubstring("shared_memory"));
}

TEST_CASE("a wrong element ends bus_bandwidth, and the message names rank, backend and element",
          "[nccl][chapter][multirank]") {
  const test::Finished finished =
      run({"--backends", "star,ring", "--max-bytes", "4000", "--min-bytes", "4000", "--repeat", "1", "--spoil", "1"});
  CHECK(finished.exit_code == 1);
  CHECK(finished.out == "");
  CHECK_THAT(finished.err, ContainsSubstring("rank 1: star: all_reduce of 4000 bytes: element 500 is ") &&
                               ContainsSubstring("expected"));
}

TEST_CASE("bus_bandwidth refuses a range without sizes, and a rank to spoil that does not exist", "[nccl][chapter]") {
  const test::Finished sizes = run({"--backends", "star", "--min-bytes", "8", "--max-bytes", "4"});
  CHECK(sizes.exit_code == 2);
  CHECK_THAT(sizes.err, ContainsSubstring("--min-bytes 8 is more than --max-bytes 4"));
  const test::Finished spoiled = run({"--backends", "star", "--max-bytes", "1024", "--spoil", "2"});
  CHECK(spoiled.exit_code == 2);
  CHECK_THAT(spoiled.err, ContainsSubstring("--spoil 2: the ranks are 0 to 1"));
}

TEST_CASE("bus_bandwidth records what it prints", "[nccl][chapter][multirank]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "record.json").string();
  const test::Finished finished = run({"--backends", "star,shared_memory", "--world-size", "3", "--min-bytes", "1200",
                                       "--max-bytes", "1200", "--repeat", "3", "--json", file});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const nlohmann::json record = parse_json(read_file(file));
  for (const char* field : {"title", "date", "command", "machine"}) CHECK(record.contains(field));
  REQUIRE(record["rows"].size() == 2);
  for (const nlohmann::json& row : record["rows"]) {
    const double seconds = row["microseconds"].get<double>() * 1e-6;
    CHECK(row["bytes"] == 1200);
    CHECK(row["world_size"] == 3);
    // Microseconds are rounded to 0.1 of at least 1, bandwidths to 1e-5 GB/s.
    CHECK(std::abs(row["algbw_gb_s"].get<double>() - 1200 / seconds / 1e9) <= 1200e-9 / seconds * 0.06 + 1e-5);
    CHECK(std::abs(row["busbw_gb_s"].get<double>() - row["algbw_gb_s"].get<double>() * 4 / 3) <= 3e-5);
  }
}

TEST_CASE("bus_bandwidth says who is left out, and ends as skipped if nobody is left", "[nccl][chapter]") {
  const test::Finished some = run({"--backends", "star,mpi", "--max-bytes", "1024", "--repeat", "1"});
  CHECK(some.exit_code == 0);
  CHECK_THAT(some.out, ContainsSubstring("mpi"));  // a column, or why there is none
  const test::Finished none =
      test::run_program({test::built_program("bus_bandwidth"), "--backends", "mpi"},
                        {{"RANK", ""}, {"WORLD_SIZE", ""}, {"LOCKSTEP_STORE", ""}, {"PATH", "/nowhere"}});
  CHECK(none.exit_code == 77);
  CHECK_THAT(none.err, ContainsSubstring("nothing to measure: mpi: "));
}
