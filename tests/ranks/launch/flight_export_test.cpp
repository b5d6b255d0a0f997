// Flight records for PyTorch's analyzer, read by Python and, if it is there, by the analyzer itself.
#include "launch/watching/flight_export.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "launch/watching/pickle.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using comm::Collective;
using comm::FlightRecorder;
using comm::FlightState;
using nlohmann::json;

namespace {

constexpr int kSplitGroup = 1;  // of four ranks: the first split, whose first member is rank 0
constexpr const char* kAnalyzer = "torch.distributed.flight_recorder.fr_trace";

comm::Fingerprint call(Collective collective, std::uint64_t sequence, std::int64_t count, int root = 0) {
  return {.sequence = sequence, .collective = collective, .dtype = DType::kFloat32, .root = root, .count = count};
}

void record(FlightRecorder& recorder, int group, const comm::Fingerprint& fingerprint, FlightState last) {
  const std::uint64_t entry = recorder.add(group, fingerprint, std::source_location::current());
  if (last != FlightState::kIssued) recorder.update(entry, FlightState::kRunning);
  if (last == FlightState::kDone || last == FlightState::kFailed) recorder.update(entry, last);
}

json read_pickle(const std::filesystem::path& path) {
  const std::string code =
      "import json, pickle, sys\nprint(json.dumps(pickle.load(open(sys.argv[1], 'rb')), allow_nan=False))";
  const test::Finished python = test::run_program({"python3", "-c", code, path.string()});
  INFO(python.err);
  REQUIRE(python.exit_code == 0);
  return parse_json(python.out);
}

void require_python() {
  if (test::run_program({"sh", "-c", "command -v python3"}).exit_code != 0) test::skip("there is no python3");
}

// The analyzer's output for the records of all ranks in the folder.
std::string analysis_of(const std::filesystem::path& folder) {
  const test::Finished analyzer = test::run_program({"python3", "-m", kAnalyzer, folder.string()});
  INFO(analyzer.out << analyzer.err);
  REQUIRE(analyzer.exit_code == 0);
  return analyzer.out + analyzer.err;
}

}  // namespace

TEST_CASE("a pickle holds what Python reads as the same value", "[launch]") {
  require_python();
  const json value = {{"numbers", {0, -1, INT64_MIN, INT64_MAX, UINT64_MAX, 0.5, -1e-300}},
                      {"texts", {"", "a\"b\n", "\xc3\xa4\xe2\x82\xac"}},
                      {"others", {nullptr, true, false, json::array(), json::object(), {{{"nested", json::array()}}}}}};
  const test::TemporaryFolder folder;
  write_file(folder / "value", launch::to_pickle(value));
  CHECK(read_pickle(folder / "value") == value);
}

TEST_CASE("PyTorch's record of a rank has its calls' names, sizes, states and groups", "[launch]") {
  const test::TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 2, 4, 0);
  recorder.note_group(kSplitGroup, {0, 2});
  record(recorder, 0, call(Collective::kAllReduce, 0, 10), FlightState::kDone);
  record(recorder, kSplitGroup, call(Collective::kReduceScatter, 0, 3), FlightState::kRunning);
  record(recorder, kSplitGroup, call(Collective::kSend, 7, 4, 0), FlightState::kFailed);  // to rank 0 of the job
  record(recorder, 0, call(Collective::kGather, 1, 6, 2), FlightState::kIssued);
  record(recorder, 6, call(Collective::kAllReduce, 0, 1), FlightState::kDone);  // a group whose ranks were not noted
  const json written = launch::to_pytorch_record(recorder.record(), 1'000);

  CHECK(written["pg_config"]["0"] == json{{"name", "0"}, {"desc", "default_pg"}, {"ranks", "[0,1,2,3]"}});
  CHECK(written["pg_config"]["1"] == json{{"name", "1"}, {"desc", "undefined"}, {"ranks", "[0,2]"}});
  CHECK(written["pg_config"]["1 2->0"] == json{{"name", "1 2->0"}, {"desc", "undefined"}, {"ranks", "[0,2]"}});
  REQUIRE(written["entries"].size() == 4);
  const auto of = [&](std::size_t entry, const char* key) { return written["entries"][entry][key]; };
  CHECK(of(0, "profiling_name") == "nccl:all_reduce");
  CHECK(of(0, "state") == "completed");
  CHECK(of(0, "input_sizes") == json{{10}});
  CHECK(of(0, "input_dtypes") == json{"Float"});
  CHECK(of(0, "time_created_ns") == recorder.record().entries[0].issued_ns + 1'000);
  CHECK(of(1, "profiling_name") == "nccl:_reduce_scatter_base");
  CHECK(of(1, "input_sizes") == json{{6}});
  CHECK(of(1, "output_sizes") == json{{3}});
  CHECK(of(1, "state") == "started");
  CHECK(of(1, "time_discovered_completed_ns") == nullptr);
  CHECK(of(2, "profiling_name") == "nccl:send 1->0");  // ranks within the group of the two
  CHECK(of(2, "p2p_seq_id") == 7);
  CHECK(of(2, "state") == "started");  // PyTorch has no word for "failed"
  CHECK(of(3, "output_sizes") == json{{6}, {6}, {6}, {6}});
  CHECK(of(3, "state") == "scheduled");
  CHECK(of(3, "record_id") == 3);
  CHECK_THAT(of(3, "frames")[0]["filename"].get<std::string>(), ContainsSubstring("flight_export_test.cpp"));
}

TEST_CASE("a path that is not UTF-8, and a count that no memory holds, do not disturb an export", "[launch]") {
  const test::TemporaryFolder folder;
  {
    FlightRecorder recorder(folder.path(), 0, 2, 0);
    record(recorder, 0, call(Collective::kAllGather, 0, INT64_MAX), FlightState::kDone);
  }
  std::string bytes = read_file(comm::flight_record_path(folder.path(), 0));
  const std::size_t name = bytes.find("flight_export_test.cpp");
  REQUIRE(name != std::string::npos);
  bytes[name] = '\xff';
  write_file(comm::flight_record_path(folder.path(), 0), bytes);
  const json written =
      launch::to_pytorch_record(comm::read_flight_record(comm::flight_record_path(folder.path(), 0)), 0);
  CHECK_THAT(dump_json(written), ContainsSubstring("\\xfflight_export_test.cpp"));
  require_python();
  (void)launch::export_flight_files(folder.path(), folder / "out");
  CHECK(read_pickle(folder / "out" / "rank_0")["entries"][0]["frames"] == written["entries"][0]["frames"]);
}

TEST_CASE("entries keep their numbers after the first ones were overwritten", "[launch]") {
  const test::TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 0, 1, 0);
  for (std::uint64_t i = 0; i < FlightRecorder::kCapacity + 3; ++i)
    record(recorder, 0, call(Collective::kAllReduce, i, 10), FlightState::kDone);
  const json entries = launch::to_pytorch_record(recorder.record(), 0)["entries"];
  CHECK(entries.front()["record_id"] == 3);
  CHECK(entries.front()["collective_seq_id"] == 3);
  CHECK(entries.back()["record_id"] == FlightRecorder::kCapacity + 2);
}

TEST_CASE("an export names the ranks without a record, and overwrites nothing", "[launch]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path to = folder / "out";
  const auto write = [&] { (void)launch::export_flight_files(folder.path(), to); };
  CHECK_THROWS_AS(write(), UsageError);
  CHECK_THROWS_WITH(write(), ContainsSubstring("no rank has recorded anything in "));
  for (const int rank : {0, 3}) {
    FlightRecorder recorder(folder.path(), rank, 4, 0);
    record(recorder, 0, call(Collective::kAllReduce, 0, 10), FlightState::kDone);
    record(recorder, 6, call(Collective::kAllReduce, 0, 10), FlightState::kDone);
  }
  const launch::FlightExport written = launch::export_flight_files(folder.path(), to);
  CHECK(written.ranks == std::vector{0, 3});
  CHECK(written.missing == std::vector{1, 2});
  CHECK(written.left_out == 2);
  const std::string before = read_file(to / "rank_3");
  CHECK_THROWS_AS(write(), UsageError);
  CHECK_THROWS_WITH(write(), ContainsSubstring("rank_0 exists: name another folder"));
  CHECK(read_file(to / "rank_3") == before);
  require_python();
  CHECK(read_pickle(to / "rank_3")["entries"].size() == 1);
}

TEST_CASE("PyTorch's analyzer finds the rank that did not take part", "[launch]") {
  require_python();
  if (test::run_program({"python3", "-c", concat("import ", kAnalyzer)}).exit_code != 0)
    test::skip("there is no PyTorch with torch.distributed.flight_recorder (2.14 has it, Debian 13's 2.6 has not)");
  const test::TemporaryFolder folder;
  for (int rank = 0; rank < 3; ++rank) {
    FlightRecorder recorder(folder.path(), rank, 3, 0);
    const int group = 5 + rank % 2;  // ranks 0 and 2; rank 1
    recorder.note_group(group, rank % 2 == 0 ? std::vector{0, 2} : std::vector{1});
    record(recorder, 0, call(Collective::kAllReduce, 0, 10), FlightState::kDone);
    record(recorder, group, call(Collective::kAllGather, 0, 3), FlightState::kDone);
    if (rank == 0) record(recorder, 0, call(Collective::kSend, 0, 4, 2), FlightState::kDone);
    if (rank == 2) record(recorder, 0, call(Collective::kRecv, 0, 4, 0), FlightState::kDone);
    for (const auto collective :
         {Collective::kBroadcast, Collective::kBarrier, Collective::kReduce, Collective::kReduceScatter,
          Collective::kGather, Collective::kScatter, Collective::kAllToAll})
      record(recorder, 0, call(collective, 1 + static_cast<std::uint64_t>(collective), 6), FlightState::kDone);
  }
  (void)launch::export_flight_files(folder.path(), folder / "whole");
  const std::string whole = analysis_of(folder / "whole");
  CHECK_THAT(whole,
             !ContainsSubstring("Not all ranks") && !ContainsSubstring("error") && !ContainsSubstring("mismatch"));

  FlightRecorder behind(folder.path(), 1, 3, 0);
  FlightRecorder ahead(folder.path(), 0, 3, 0), other(folder.path(), 2, 3, 0);
  for (FlightRecorder* each : {&behind, &ahead, &other})
    record(*each, 0, call(Collective::kAllReduce, 0, 10), FlightState::kDone);
  for (FlightRecorder* each : {&ahead, &other})
    record(*each, 0, call(Collective::kAllReduce, 1, 10), FlightState::kRunning);
  (void)launch::export_flight_files(folder.path(), folder / "stuck");
  CHECK_THAT(analysis_of(folder / "stuck"), ContainsSubstring("Not all ranks joining collective, sequence number: 1") &&
                                                ContainsSubstring("missing ranks: {1}"));
}
