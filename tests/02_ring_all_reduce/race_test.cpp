// race, ring_trace, send_first and ring_steps: what they print that does not depend on the machine.
#include <map>
#include <sstream>

#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "trace/trace_file.hpp"

using namespace lockstep;

namespace {

test::Finished run(std::vector<std::string> command) {
  command.front() = test::built_program(command.front());
  return test::run_program(command);
}

// The numbers of a row, by "algorithm ranks": bytes, measured us, predicted us, ratio, one host us, ratio.
std::map<std::string, std::vector<double>> rows_of(const std::string& output) {
  std::map<std::string, std::vector<double>> rows;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string prefix, rank, name, ranks;
    words >> prefix >> rank >> name >> ranks;
    std::vector<double> numbers;
    for (double number; words >> number;) numbers.push_back(number);
    if (numbers.size() == 6) rows[name + " " + ranks] = numbers;
  }
  return rows;
}

}  // namespace

TEST_CASE("race counts what the busiest rank sends and predicts the time of each algorithm",
          "[ring][chapter][multirank]") {
  // More than `small_bytes`, so that no row's name has blanks; P divides the count for all P.
  const test::Finished finished = run(
      {"race", "--world-sizes", "2,3,4", "--bytes", "48000", "--repeat", "2", "--alpha-us", "20", "--beta-gb-s", "2"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  auto rows = rows_of(finished.out);
  for (const int ranks : {2, 3, 4}) {
    const std::string text = " " + std::to_string(ranks);
    const double others = ranks - 1, buffer_us = 24;  // 48000 bytes at 2 GB/s
    CHECK(rows["star" + text].at(0) == others * 48000);
    CHECK(rows["mesh" + text].at(0) == others * 48000);
    CHECK(rows["ring" + text].at(0) == 2 * others / ranks * 48000);
    // Printed without decimals.
    CHECK(std::abs(rows["star" + text].at(2) - (2 * 20 + 2 * others * buffer_us)) <= 0.51);
    CHECK(std::abs(rows["mesh" + text].at(2) - (20 + others * buffer_us)) <= 0.51);
    CHECK(std::abs(rows["ring" + text].at(2) - 2 * others * (20 + buffer_us / ranks)) <= 0.51);
    for (const char* name : {"star", "mesh", "ring"}) {
      CHECK(rows[name + text].at(1) > 0);
      CHECK(rows[name + text].at(4) >= rows[name + text].at(2));  // sharing a machine never makes it faster
    }
  }
}

TEST_CASE("race shows how a RingProcessGroup sends small buffers", "[ring][chapter][multirank]") {
  const test::Finished finished = run({"race", "--world-sizes", "4", "--bytes", "1024", "--repeat", "3"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("GB/s between two ranks"));
  CHECK_THAT(finished.out, ContainsSubstring("ring, via rank 0      4       3072"));
}

TEST_CASE("race predicts where ring and star cross", "[ring][chapter]") {
  // 2 a + 2(P-1) n/b = 2(P-1) a + 2(P-1)/P n/b gives n = a b (P-2) P / (P-1)^2, with a b = 40000 here.
  const test::Finished finished = run({"race", "--predict", "--alpha-us", "20", "--beta-gb-s", "2"});
  CHECK(finished.exit_code == 0);
  CHECK(finished.out ==
        "model, 2 ranks: the ring is faster than the star from 0 bytes up\n"
        "model, 4 ranks: the ring is faster than the star from 35556 bytes up\n"
        "model, 8 ranks: the ring is faster than the star from 39184 bytes up\n");
  CHECK(run({"race", "--predict"}).exit_code == 2);
}

TEST_CASE("race refuses half a link, and a race of one rank", "[ring][chapter]") {
  const auto refusal = [](const std::vector<std::string>& options) {
    std::vector<std::string> command{"race", "--bytes", "4", "--repeat", "1"};
    command.insert(command.end(), options.begin(), options.end());
    const test::Finished finished = run(command);
    CHECK(finished.exit_code == 2);
    return finished.out + finished.err;
  };
  const std::string both = "--alpha-us and --beta-gb-s go together";
  CHECK_THAT(refusal({"--world-sizes", "2", "--alpha-us", "20"}), ContainsSubstring(both));
  CHECK_THAT(refusal({"--predict", "--beta-gb-s", "2"}), ContainsSubstring(both));
  CHECK_THAT(refusal({"--alpha-us", "20", "--beta-gb-s", "-2"}), ContainsSubstring("--beta-gb-s"));
  CHECK_THAT(refusal({"--world-sizes", "1"}), ContainsSubstring("--world-sizes"));
}

TEST_CASE("a ring that sends first works with small chunks and hangs with large ones", "[ring][chapter]") {
  const test::Finished small = run({"send_first", "--bytes", "1000"});
  CHECK(small.exit_code == 0);
  CHECK_THAT(small.out, ContainsSubstring("rank 2: sent and received 1000 bytes\n"));
  CHECK(run({"send_first", "--bytes", "1000", "--timeout", "1e9"}).exit_code == 0);
  CHECK(run({"send_first", "--bytes", "1000", "--timeout", "1e30"}).exit_code == 2);
  const test::Finished large = run({"send_first", "--bytes", "33554432", "--timeout", "0.5"});
  CHECK(large.exit_code == 1);
  CHECK_THAT(large.out, ContainsSubstring("rank 0: rank 1 took no data for ") &&
                            ContainsSubstring("rank 1: rank 2 took no data for ") &&
                            ContainsSubstring("rank 2: rank 0 took no data for "));
}

TEST_CASE("ring_steps fits a terminal of 80 columns and colours every rank", "[ring][chapter]") {
  const std::string text = run({"ring_steps", "--world-size", "8", "--no-color"}).out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  const std::string coloured = run({"ring_steps", "--world-size", "2", "--color"}).out;
  // Complete chunks are bold: rank 0's digit and rank 1's, each in the colour of its rank.
  CHECK_THAT(coloured, ContainsSubstring("\033[1;38;5;203m0\033[0m\033[1;38;5;172m1\033[0m"));
}

TEST_CASE("ring_trace records every message of every rank, once", "[ring][chapter][multirank]") {
  const test::TemporaryFolder folder;
  // Three chunks of 400000 bytes, each of two segments (256 KiB and the rest).
  const test::Finished finished =
      run({"ring_trace", "--world-size", "3", "--bytes", "1200000", "--out", folder.path().string()});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const std::vector<trace::RankTrace> ranks = trace::read_trace(folder.path() / "trace.json");
  REQUIRE(ranks.size() == 3);
  for (const trace::RankTrace& rank : ranks) {
    const std::string right = std::to_string((rank.rank + 1) % 3), left = std::to_string((rank.rank + 2) % 3);
    std::map<std::string, int> times;
    for (const trace::SpanRecord& span : rank.spans) ++times[rank.lanes.at(span.lane) + ": " + span.name];
    INFO("rank " << rank.rank);
    CHECK(times["messages: send 262144 bytes to rank " + right] == 4);  // 2 (P - 1) chunks
    CHECK(times["messages: send 137856 bytes to rank " + right] == 4);
    CHECK(times["messages: receive 262144 bytes from rank " + left] == 4);
    CHECK(times["messages: receive 137856 bytes from rank " + left] == 4);
    CHECK(rank.spans.size() == 17);  // and the all-reduce itself
  }
}
