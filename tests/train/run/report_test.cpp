#include "run/report.hpp"

#include "base/file.hpp"
#include "device/storage.hpp"
#include "run/metrics.hpp"
#include "run/rank_summary.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"
#include "trace/trace_file.hpp"

using namespace lockstep;
using namespace lockstep::run;
using Milliseconds = StepMetrics::Milliseconds;

namespace {

StepMetrics step_of(std::int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.loss = 5.0 / static_cast<double>(step);
  metrics.count = 3072;
  metrics.duration = Milliseconds(50);
  metrics.data_wait = Milliseconds(1.25);
  metrics.exposed_communication = Milliseconds(5);
  metrics.peak_memory_mib = {static_cast<double>(100 + step), 70};
  if (step % 4 == 0) metrics.validation_loss = metrics.loss + 0.1;
  return metrics;
}

/// A run folder of two ranks.
void fill(const test::TemporaryFolder& folder) {
  MetricsFile file(folder / "metrics.jsonl", 0);
  for (std::int64_t step = 1; step <= 8; ++step) file.write(step_of(step));
  for (int rank = 0; rank < 2; ++rank) {
    trace::Recorder recorder(rank);
    const int lane = recorder.lane("compute");
    recorder.set_step(1);
    recorder.record(lane, "forward", trace::Category::kForward, trace::Clock::now(), trace::Clock::now());
    const std::vector<trace::RankTrace> traces{recorder.snapshot()};
    trace::write_trace(folder / trace::trace_file_name(rank), traces);
    write_summary(folder.path(), {.rank = rank,
                                  .duration = Milliseconds(50 + rank),
                                  .data_wait = Milliseconds(2.25 + rank),
                                  .exposed_communication = Milliseconds(4.5 - rank),
                                  .peak_memory_mib = 100.0 + rank});
  }
}

}  // namespace

TEST_CASE("the report holds curves, ranks, timeline and text, and asks no server for anything", "[run]") {
  const test::TemporaryFolder folder;
  fill(folder);
  const std::string page = report_page(folder.path(), {{"model", "tiny & <small>"}},
                                       {.step = 8,
                                        .last_step = 8,
                                        .loss = 0.6,
                                        .validation_loss = {},
                                        .scores = {},
                                        .elapsed = {},
                                        .generated = "a < b",
                                        .loss_unit = "nats per token"});
  for (const char* part : {"Loss", "Throughput", "validation", "rank 1", "exposed communication", "Timeline",
                           "a &lt; b", "nats per token", "tokens per second", "tiny &amp; &lt;small&gt;"}) {
    CHECK_THAT(page, ContainsSubstring(part));
  }
  for (const char* remote : {"src=\"http", "href=\"http", "url(http", "@import", "fetch("}) {
    CHECK(page.find(remote) == std::string::npos);
  }
}

TEST_CASE("the report gives exposed communication and data wait, of the step and by rank, memory and the slowest rank",
          "[run]") {
  const test::TemporaryFolder folder;
  fill(folder);
  const std::string page = report_page(folder.path(), {}, {});
  for (const char* part : {"1.25 ms (2.5 % of the step)", "5.00 ms (10.0 % of the step)", "2.25 ms waiting for data",
                           "3.25 ms waiting for data", "4.50 ms exposed communication", "3.50 ms exposed communication",
                           "100 MiB at most", "101 MiB at most"}) {
    CHECK_THAT(page, ContainsSubstring(part));
  }
  const std::size_t slowest = page.find("slowest");
  REQUIRE(slowest != std::string::npos);
  CHECK_THAT(page.substr(slowest, 100), ContainsSubstring("rank 1"));  // 51 - 3.5 ms against 50 - 4.5
}

TEST_CASE("a report leaves out what cannot be read, and says so", "[run]") {
  struct Case {
    std::string file, bytes, gone;
  };
  const std::string whole_page = [] {
    const test::TemporaryFolder folder;
    fill(folder);
    return report_page(folder.path(), {}, {});
  }();
  for (const Case& broken :
       {Case{"rank_1.json", "{\"rank\": 1", "51.0 ms a step"}, Case{"rank_0.json", "", "50.0 ms a step"},
        Case{"trace_rank1.json", "[", "Timeline of the last steps"},
        Case{"trace_rank0.json", "{}", "Timeline of the last steps"},
        Case{"metrics.jsonl", std::string(9, '\0'), "10.0 % of the step"}}) {
    const test::TemporaryFolder folder;
    fill(folder);
    write_file(folder / broken.file, broken.bytes);
    const std::string page = report_page(folder.path(), {}, {});
    INFO(broken.file);
    CHECK_THAT(whole_page, ContainsSubstring(broken.gone));
    CHECK(page.find(broken.gone) == std::string::npos);
    CHECK_THAT(page, ContainsSubstring("</html>"));
  }
}

TEST_CASE("a report of nothing is still a page", "[run]") {
  const test::TemporaryFolder folder;
  CHECK_THAT(report_page(folder.path(), {}, {}), ContainsSubstring("</html>"));
}

TEST_CASE("ranks are compared by their own time, without waiting for others", "[run]") {
  const std::vector<RankSummary> ranks{
      {.rank = 0, .duration = Milliseconds(50), .exposed_communication = Milliseconds(20)},
      {.rank = 1, .duration = Milliseconds(50), .exposed_communication = Milliseconds(1)}};
  CHECK(slowest_rank(ranks) == 1);
}

TEST_CASE("the peak memory of a device is what was in use there", "[run]") {
  CHECK(peak_memory_mib() > 1);
  const Device device{accelerator_type(), 0};
  if (!device.is_available()) test::skip("compiled for CUDA, without a GPU");
  const double before = peak_memory_mib(device);
  const auto held = Storage::allocate(std::size_t{8} << 20, device);
  CHECK(peak_memory_mib(device) == Approx(before + 8));
}

TEST_CASE("a summary leaves out the first tenth and survives its file", "[run]") {
  const test::TemporaryFolder folder;
  std::vector<StepMetrics> history(20, step_of(1));
  history[0].duration = history[1].duration = Milliseconds(1000);
  write_summary(folder.path(), summarize(0, history));
  const RankSummary read = read_summaries(folder.path(), 1).front();
  CHECK(read.duration.count() == Approx(50));
  CHECK(read.data_wait.count() == Approx(1.25));
  CHECK(read.exposed_communication.count() == Approx(5));
  CHECK(read.peak_memory_mib == 101);  // of the last step and its own rank
}
