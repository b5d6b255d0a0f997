// How `run 06 --mine` and the cases for detectives treat logs damaged by a crash, a full disk or NaN.
#include "exercise_tool/loss_log.hpp"

#include <cmath>

#include "base/file.hpp"
#include "exercise_tool/loss_chart.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::exercise;

TEST_CASE("the losses of a run are read as far as they can be", "[exercise]") {
  const test::TemporaryFolder folder;
  const test::CapturedStderr err;
  CHECK(read_loss_log(folder.path()).empty());
  write_file(folder / "metrics.jsonl", std::string("{\"loss\": 2, \"tokens_per_s\": 5}\n"
                                                   "\n"
                                                   "{\"loss\": null, \"tokens_per_s\": null}\n"
                                                   "{\"loss\": NaN}\n"
                                                   "{\"lo\n"
                                                   "\0\0\n"
                                                   "{\"loss\": 1, \"tokens_per_s\": 6}\n"
                                                   "{\"loss\": 0.",
                                                   133));
  const std::vector<LoggedStep> steps = read_loss_log(folder.path());
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].loss == 2);
  CHECK(std::isnan(steps[1].loss));
  CHECK(steps[1].tokens_per_s == 0);
  CHECK(std::isnan(steps[2].loss));
  CHECK(steps[3].tokens_per_s == 6);
  CHECK_THAT(err.text(), ContainsSubstring("2 of 8 lines cannot be read and are left out; the first is line 5"));
  std::filesystem::remove(folder / "metrics.jsonl");
  std::filesystem::create_directory(folder / "metrics.jsonl");
  CHECK(read_loss_log(folder.path()).empty());
}

TEST_CASE("a chart of losses that are lost is a chart of the others, or an empty one", "[exercise]") {
  const double nan = std::nan("");
  CHECK_THAT(loss_chart({nan, 3, 2}, {3, nan, 1}), ContainsSubstring("  3.00 |") && ContainsSubstring("  1.00 |"));
  CHECK_THAT(loss_chart({nan}, {nan, nan}), ContainsSubstring("step 1 to 2"));
}

TEST_CASE("in a chart of curves of different length, equal steps are in the same column", "[exercise]") {
  const std::string chart = loss_chart({8, 7, 6, 5, 4, 3, 2, 1}, {8, 7, 6, 5});
  CHECK_THAT(chart, ContainsSubstring("  8.00 |*\n"));
  CHECK_THAT(chart, ContainsSubstring("  4.82 |   *\n"));  // 5, in the row that is nearest
  CHECK_THAT(chart, ContainsSubstring("  1.00 |       o\n"));
  CHECK_THAT(chart, !ContainsSubstring("y\n") && ContainsSubstring("step 1 to 8"));
}
