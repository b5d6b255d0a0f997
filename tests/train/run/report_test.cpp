#include "run/report.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "device/storage.hpp"
#include "run/metrics.hpp"
#include "run/rank_summary.hpp"
#include "run/step_clock.hpp"
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
void fill(const std::filesystem::path& folder) {
  MetricsFile file(folder / "metrics.jsonl", 0);
  for (std::int64_t step = 1; step <= 8; ++step) file.write(step_of(step));
  for (int rank = 0; rank < 2; ++rank) {
    trace::Recorder recorder(rank);
    const int lane = recorder.lane("compute");
    recorder.set_step(1);
    recorder.record(lane, "forward", trace::Category::kForward, trace::Clock::now(), trace::Clock::now());
    const std::vector<trace::RankTrace> traces{recorder.snapshot()};
    trace::write_trace(folder / trace::trace_file_name(rank), traces);
    write_summary(folder, {.rank = rank,
                           .duration = Milliseconds(50 + rank),
                           .data_wait = Milliseconds(2.25 + rank),
                           .exposed_communication = Milliseconds(4.5 - rank),
                           .peak_memory_mib = 100.0 + rank});
  }
}

}  // namespace

TEST_CASE("the report holds curves, ranks, timeline and text, and asks no server for anything", "[run]") {
  const test::TemporaryFolder folder;
  fill(folder.path());
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
  fill(folder.path());
  const std::string page = report_page(folder.path(), {}, {});
  for (const char* part : {"1.25 ms (2.5 % of the step)", "5.00 ms (10.0 % of the step)", "2.25 ms waiting for data",
                           "3.25 ms waiting for data", "4.50 ms waiting for other ranks",
                           "3.50 ms waiting for other ranks", "100 MiB at most", "101 MiB at most"}) {
    CHECK_THAT(page, ContainsSubstring(part));
  }
  const std::size_t slowest = page.find("slowest");
  REQUIRE(slowest != std::string::npos);
  const std::string own_time = "rank 1: most time without waiting for other ranks, 47.5 ms a step";  // 51 - 3.5
  CHECK_THAT(page.substr(slowest, 200), ContainsSubstring(own_time + "</td>"));
  write_summary(folder.path(), {.rank = 0, .duration = Milliseconds(60), .exposed_communication = Milliseconds(15)});
  CHECK_THAT(report_page(folder.path(), {}, {}),
             ContainsSubstring(own_time +
                               ". The step of rank 0 was longer only because it waited: it took 45.0 ms without that"));
}

TEST_CASE("the report begins with where the time went, and each table says whose and of which steps", "[run]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path run = folder.path() / "runs" / "a";
  std::filesystem::create_directories(run);
  std::filesystem::create_directories(folder.path() / "chapters" / "06_gpt_ddp");
  write_file(folder.path() / "chapters" / "06_gpt_ddp" / "README.md", "## Run it\n");
  fill(run);
  const std::string page = report_page(run, {}, {.step = 8, .last_step = 8, .warmup_steps = 5});
  const std::size_t lead = page.find("<p class=\"lead\">");
  REQUIRE(lead < page.find("<h2>"));
  CHECK_THAT(page.substr(lead, 400),
             ContainsSubstring("8 % of each step was waiting for other ranks; rank 1 came last, by 2.0 ms a step.") &&
                 ContainsSubstring("href=\"../../chapters/06_gpt_ddp/README.md#run-it\""));
  CHECK_THAT(page, ContainsSubstring("<caption>Rank 0, mean of steps 1 to 8</caption>") &&
                       ContainsSubstring("<caption>Each rank, mean of steps 1 to 8</caption>") &&
                       ContainsSubstring("<caption>Each rank: milliseconds per step, step 1</caption>"));
  CHECK(page.find("warm-up") == std::string::npos);
  CHECK_THAT(report_page(run, {}, {.step = 8, .last_step = 8, .warmup_steps = 50}),
             ContainsSubstring("rose in all 8 steps: the run is shorter than its warm-up (--warmup-steps 50)"));
  CHECK_THAT(report_page(run, {}, {.step = 1, .last_step = 8, .warmup_steps = 5}),
             ContainsSubstring("rose in its only step: the run ended inside its warm-up of 5 steps"));
  CHECK_THAT(report_page(run, {}, {.step = 8, .last_step = 100, .warmup_steps = 50}),
             ContainsSubstring("rose in all 8 steps: the run ended inside its warm-up of 50 steps"));
  const std::filesystem::path page_on_site = folder.path() / "build" / "docs" / "site" / "chapters" / "06_gpt_ddp";
  std::filesystem::create_directories(page_on_site);
  write_file(page_on_site / "index.html", "");
  CHECK_THAT(report_page(run, {}, {}),
             ContainsSubstring("href=\"../../build/docs/site/chapters/06_gpt_ddp/index.html#run-it\""));
  CHECK_THAT(report_page(run, {}, {.step = 20, .first_step = 8, .last_step = 20}),
             ContainsSubstring("<caption>Each rank, mean of steps 10 to 20</caption>"));
}

TEST_CASE("the time of waiting for other ranks is drawn at the end of backward", "[run]") {
  trace::Recorder recorder(0);
  StepClock clock(recorder);
  StepMetrics metrics;
  clock.begin(1, {});
  clock.enter(Phase::kBackward);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  clock.enter(Phase::kUpdate);
  clock.end(metrics);
  clock.record_wait(std::chrono::milliseconds(1));
  clock.record_wait(std::chrono::nanoseconds(0));  // nothing to draw
  const std::vector<trace::SpanRecord> spans = recorder.snapshot().spans;
  const auto of = [&](trace::Category category) {
    return std::ranges::find(spans, category, &trace::SpanRecord::category);
  };
  const auto backward = of(trace::Category::kBackward), wait = of(trace::Category::kWait);
  REQUIRE(wait != spans.end());
  CHECK(wait->end_ns == backward->end_ns);
  CHECK(wait->end_ns - wait->begin_ns == 1'000'000);
  CHECK(std::ranges::count(spans, trace::Category::kWait, &trace::SpanRecord::category) == 1);
  clock.begin(2, {});
  clock.end(metrics);
  clock.record_wait(std::chrono::seconds(1));  // this step had no backward
  CHECK(recorder.snapshot().spans.size() == spans.size() + 2);
}

TEST_CASE("a report leaves out what cannot be read, and says so", "[run]") {
  struct Case {
    std::string file, bytes, gone;
  };
  const std::string whole_page = [] {
    const test::TemporaryFolder folder;
    fill(folder.path());
    return report_page(folder.path(), {}, {});
  }();
  for (const Case& broken :
       {Case{"rank_1.json", "{\"rank\": 1", "51.0 ms a step"}, Case{"rank_0.json", "", "50.0 ms a step"},
        Case{"trace_rank1.json", "[", "Timeline of the last steps"},
        Case{"trace_rank0.json", "{}", "Timeline of the last steps"},
        Case{"metrics.jsonl", std::string(9, '\0'), "10.0 % of the step"}}) {
    const test::TemporaryFolder folder;
    fill(folder.path());
    write_file(folder / broken.file, broken.bytes);
    const std::string page = report_page(folder.path(), {}, {});
    INFO(broken.file);
    CHECK_THAT(whole_page, ContainsSubstring(broken.gone));
    CHECK(page.find(broken.gone) == std::string::npos);
    CHECK_THAT(page, ContainsSubstring("</html>"));
  }
}

TEST_CASE("steps that are not in the file come from memory", "[run]") {
  const test::TemporaryFolder folder;
  fill(folder.path());
  const std::string whole_page = report_page(folder.path(), {}, {});
  std::vector<StepMetrics> kept;
  for (std::int64_t step = 1; step <= 8; ++step) kept.push_back(step_of(step));
  CHECK(report_page(folder.path(), {}, {}, {}, kept) == whole_page);
  std::filesystem::remove(folder / "metrics.jsonl");
  CHECK(report_page(folder.path(), {}, {}, {}, kept) == whole_page);
  {
    MetricsFile file(folder / "metrics.jsonl", 0);
    for (const std::int64_t step : {1, 2, 7}) file.write(step_of(step));
  }
  CHECK(report_page(folder.path(), {}, {}, {}, kept) == whole_page);
  CHECK(report_page(folder.path(), {}, {}) != whole_page);
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
  CHECK(counted_peak_mib(device) == Approx(peak_memory_mib(device)));
  const double before = peak_memory_mib(device);
  const auto held = Storage::allocate(std::size_t{8} << 20, device);
  CHECK(peak_memory_mib(device) == Approx(before + 8));
}

TEST_CASE("the counted peak is that of tensors, the process's is larger, and the closing lines show both", "[run]") {
  const double before = counted_peak_mib();
  { const auto held = Storage::allocate((std::size_t{1} << 20) + static_cast<std::size_t>(before * (1 << 20))); }
  CHECK(counted_peak_mib() > before);
  CHECK(process_peak_mib() > 1);
  Outcome outcome;
  outcome.step = outcome.last_step = 2;
  CHECK(closing("runs/a", outcome).find("memory") == std::string::npos);
  outcome.largest_peaks = {.counted_mib = 24.25, .process_mib = 181.4};
  CHECK_THAT(
      closing("runs/a", outcome),
      ContainsSubstring("\n  memory      at most 24.2 MiB counted on a rank, 181 MiB in its process\n  report  "));
}

TEST_CASE("a run that writes text ends by saying how to get more of it, and how to train on", "[run]") {
  Outcome outcome;
  outcome.step = outcome.last_step = 20;
  CHECK(closing("runs/a", outcome).find("generate") == std::string::npos);
  outcome.generated = "The";
  CHECK_THAT(closing("runs/a", outcome),
             ContainsSubstring("  write more  ./lockstep generate runs/a\n") &&
                 ContainsSubstring(
                     "  train on    the same command with --resume runs/a, and --steps above 20 or more --epochs\n"));
  outcome.last_step = 40;
  CHECK_THAT(closing("runs/a", outcome),
             ContainsSubstring("  go on with  --resume runs/a\n") && !ContainsSubstring("train on"));
  outcome.layout = " --tensor 2";
  CHECK_THAT(closing("runs/a", outcome), ContainsSubstring("  go on with  --tensor 2 --resume runs/a\n"));
}

TEST_CASE("a summary of an older run has no counted peak", "[run]") {
  const test::TemporaryFolder folder;
  write_summary(folder.path(), {.rank = 0, .counted_peak_mib = 24.5, .process_peak_mib = 181});
  CHECK(read_summaries(folder.path(), 1).front().counted_peak_mib == 24.5);
  CHECK(read_summaries(folder.path(), 1).front().process_peak_mib == 181);
  std::string text = read_file(folder / "rank_0.json");
  for (const char* name : {"counted_peak_mib", "process_peak_mib"}) {
    const std::size_t begin = text.find(std::string("\"") + name);
    text.erase(begin, text.find('\n', begin) - begin);
  }
  write_file(folder / "rank_0.json", text);
  REQUIRE(read_summaries(folder.path(), 1).size() == 1);
  CHECK(read_summaries(folder.path(), 1).front().counted_peak_mib == 0);
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
