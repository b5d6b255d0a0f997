#include "trace/trace_file.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "sample_trace.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::trace;

namespace {

bool are_equal(const SpanRecord& a, const SpanRecord& b) {
  return a.name == b.name && a.category == b.category && a.lane == b.lane && a.step == b.step &&
         a.begin_ns == b.begin_ns && a.end_ns == b.end_ns;
}

}  // namespace

TEST_CASE("a trace file is Chrome's format: processes are ranks, threads are lanes, times microseconds", "[trace]") {
  const test::TemporaryFolder folder;
  Recorder recorder(2);
  const int lane = recorder.lane("compute");
  recorder.set_step(5);
  const Clock::time_point begin{std::chrono::nanoseconds(1'234'567'891)};
  recorder.record(lane, "forward \"quoted\"\n", Category::kForward, begin, begin + std::chrono::nanoseconds(1500));
  const std::vector<RankTrace> ranks = {recorder.snapshot()};
  write_trace(folder / trace_file_name(2), ranks);

  const nlohmann::json file = parse_json(read_file(folder / "trace_rank2.json"));
  const nlohmann::json& events = file.at("traceEvents");
  REQUIRE(events.size() == 3);
  CHECK(events[0].at("name") == "process_name");
  CHECK(events[0].at("args").at("name") == "rank 2");
  CHECK(events[1].at("name") == "thread_name");
  CHECK(events[1].at("args").at("name") == "compute");
  CHECK(events[2].at("ph") == "X");
  CHECK(events[2].at("name") == "forward \"quoted\"\n");
  CHECK(events[2].at("cat") == "forward");
  CHECK(events[2].at("pid") == 2);
  CHECK(events[2].at("tid") == 0);
  CHECK(events[2].at("ts").get<double>() == Approx(1234567.891));
  CHECK(events[2].at("dur").get<double>() == Approx(1.5));
  CHECK(events[2].at("args").at("step") == 5);
}

TEST_CASE("the files of all ranks read back as one trace", "[trace]") {
  const test::TemporaryFolder folder;
  const std::vector<RankTrace> original = test::sample_traces(3, 4);
  for (const RankTrace& rank : original) write_trace(folder / trace_file_name(rank.rank), {&rank, 1});
  const std::vector<RankTrace> merged = read_trace_folder(folder.path());
  REQUIRE(merged.size() == 3);
  const std::vector<RankTrace> expected = align(original);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(merged[rank].rank == static_cast<int>(rank));
    CHECK(merged[rank].lanes == expected[rank].lanes);
    CHECK(std::equal(merged[rank].spans.begin(), merged[rank].spans.end(), expected[rank].spans.begin(),
                     expected[rank].spans.end(), are_equal));
  }
  write_trace(folder / "merged.json", merged);  // and one file can hold them all
  CHECK(read_trace(folder / "merged.json").size() == 3);
}

TEST_CASE("ranks of one host align by its clock, ranks of several by wall clock", "[trace]") {
  std::vector<RankTrace> ranks(2);
  ranks[0].rank = 0;
  ranks[0].boot_id = "a";
  ranks[0].wall_offset_ns = 1000;
  ranks[0].spans = {{"x", Category::kOther, 0, 1, 50, 60}};
  ranks[1].rank = 1;
  ranks[1].boot_id = "a";
  ranks[1].wall_offset_ns = 1007;  // 7 ns off: an error of measuring, which a common clock does without
  ranks[1].spans = {{"y", Category::kOther, 0, 1, 70, 90}};
  std::vector<RankTrace> aligned = align(ranks);
  CHECK(aligned[0].spans[0].begin_ns == 0);
  CHECK(aligned[1].spans[0].begin_ns == 20);
  CHECK(aligned[1].spans[0].end_ns == 40);
  CHECK(aligned[0].spans[0].begin_ns + aligned[0].wall_offset_ns == 1050);

  ranks[1].boot_id = "b";
  ranks[1].wall_offset_ns = 900;  // another host, whose clock started 100 ns later
  aligned = align(ranks);
  CHECK(aligned[0].spans[0].begin_ns == 80);  // wall 1050
  CHECK(aligned[1].spans[0].begin_ns == 0);   // wall 970

  for (RankTrace& rank : ranks) rank.boot_id = "a";
  for (RankTrace& rank : ranks) rank.spans.clear();  // nothing to align
  CHECK(align(ranks)[0].wall_offset_ns == 1000);
}

TEST_CASE("what is no trace is refused by name", "[trace]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_AS(read_trace(folder / "none.json"), IoError);
  CHECK_THROWS_WITH(read_trace_folder(folder.path()), ContainsSubstring("trace_rank0.json is missing"));
  for (const char* content :
       {"", "{", "[]", "{\"traceEvents\": []}", R"({"lockstep": [], "traceEvents": [{"ph": "X", "pid": 9}]})"}) {
    write_file(folder / "trace_rank0.json", content);
    CHECK_THROWS_AS(read_trace_folder(folder.path()), FormatError);
  }
}
