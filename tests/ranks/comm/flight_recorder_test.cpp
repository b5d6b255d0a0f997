#include "comm/flight_recorder/flight_recorder.hpp"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/state_folder.hpp"
#include "comm/fingerprints.hpp"
#include "comm/flight_recorder/flight_folder.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using comm::FlightRecorder;
using comm::FlightState;
using test::all_reduce;
using test::TemporaryFolder;

TEST_CASE("a record can be read while its writer runs, as after a kill", "[comm]") {
  const TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 2, 4, 1);
  const auto first = recorder.add(0, all_reduce(0), std::source_location::current());
  recorder.add(0, all_reduce(1), std::source_location::current());
  recorder.update(first, FlightState::kRunning);
  recorder.update(first, FlightState::kDone);

  const auto record = comm::read_flight_record(comm::flight_record_path(folder.path(), 2));
  CHECK(record.rank == 2);
  CHECK(record.world_size == 4);
  CHECK(record.generation == 1);
  REQUIRE(record.entries.size() == 2);
  CHECK(record.entries[0].fingerprint == all_reduce(0));
  CHECK(record.entries[0].state == FlightState::kDone);
  CHECK(record.entries[0].ended_ns >= record.entries[0].started_ns);
  CHECK(record.entries[1].state == FlightState::kIssued);
  CHECK(record.entries[1].ended_ns == 0);
  const std::string text = comm::format_flight_record(record, 1);
  CHECK_THAT(text, ContainsSubstring("all_reduce #1 (sum of 10 float32) issued, "));
  CHECK_THAT(text, ContainsSubstring("flight_recorder_test.cpp:"));
  CHECK(text.find("#0") == std::string::npos);
}

TEST_CASE("times are those of the steady clock, so that setting the time of day changes no duration", "[comm]") {
  const TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 0, 1, 0);
  const auto now_ns = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const std::int64_t before = now_ns();
  const auto entry = recorder.add(0, all_reduce(0), std::source_location::current());
  recorder.update(entry, FlightState::kRunning);
  recorder.update(entry, FlightState::kDone);
  const std::int64_t after = now_ns();
  const auto recorded = recorder.record().entries.at(0);
  const std::vector<std::int64_t> times{before, recorded.issued_ns, recorded.started_ns, recorded.ended_ns, after};
  CAPTURE(times);
  CHECK(std::ranges::is_sorted(times));
}

TEST_CASE("only the last thousand collectives are kept, oldest first", "[comm]") {
  const TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 0, 1, 0);
  for (std::uint64_t i = 0; i < FlightRecorder::kCapacity + 5; ++i) {
    recorder.add(0, all_reduce(i), std::source_location::current());
  }
  recorder.update(2, FlightState::kFailed);  // its slot belongs to a later entry
  const auto record = comm::read_flight_record(comm::flight_record_path(folder.path(), 0));
  REQUIRE(record.entries.size() == FlightRecorder::kCapacity);
  for (std::uint64_t i = 0; i < FlightRecorder::kCapacity; ++i) {
    if (record.entries[i].fingerprint.sequence != i + 5 || record.entries[i].state != FlightState::kIssued) {
      FAIL("entry " << i);
    }
  }
}

TEST_CASE("a record knows which ranks are in its groups, as long as there is room", "[comm]") {
  const TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 1, 4, 0);
  recorder.note_group(6, {1, 3});
  CHECK(recorder.record().ranks_of(6) == std::vector{1, 3});
  CHECK(recorder.record().ranks_of(0) == std::vector{0, 1, 2, 3});   // all ranks, as group 5
  CHECK(recorder.record().ranks_of(10) == std::vector{0, 1, 2, 3});  // and group 10
  CHECK(recorder.record().ranks_of(7).empty());
  recorder.note_group(7, std::vector(20'000, 0));  // more than fit
  for (int group = 11; group < 9'000; ++group) recorder.note_group(group, {1, 2});
  CHECK(recorder.record().ranks_of(7).empty());
  CHECK(recorder.record().ranks_of(11) == std::vector{1, 2});
  CHECK(recorder.record().ranks_of(8'999).empty());
  CHECK(comm::read_flight_record(comm::flight_record_path(folder.path(), 1)).ranks_of(6) == std::vector{1, 3});
}

TEST_CASE("what is no flight record is refused", "[comm]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "text";
  std::ofstream(path) << "not a record";
  CHECK_THROWS_AS(comm::read_flight_record(path), FormatError);
  { const FlightRecorder damaged(folder.path(), 0, -1, 0); }  // ranks_of() divides by the number of ranks + 1
  CHECK_THROWS_AS(comm::read_flight_record(comm::flight_record_path(folder.path(), 0)), FormatError);
  for (const auto& [rank, world_size] : {std::pair(0, INT_MAX), std::pair(0, INT_MIN), std::pair(-1, 2)}) {
    const std::string damaged = comm::flight_record_path(folder.path(), rank);
    { const FlightRecorder recorder(folder.path(), rank, world_size, 0); }
    CHECK_THROWS_WITH(comm::read_flight_record(damaged), ContainsSubstring(concat(damaged, " is damaged: ")));
  }
  CHECK_THROWS_AS(comm::read_flight_record(folder.path() / "absent"), IoError);
  CHECK_THROWS_AS(FlightRecorder(folder.path() / "absent", 0, 1, 0), IoError);
}

TEST_CASE("the place of a call is kept to its last whole names", "[comm]") {
  const TemporaryFolder folder;
  FlightRecorder recorder(folder.path(), 0, 1, 0);
  const auto place_of = [&](const std::source_location& where) {
    recorder.add(0, all_reduce(0), where);
    return recorder.record().entries.back().file;
  };
  // Kept are 94 characters, here "third/" and what follows it; then all of "short.cpp"; then a name too long.
#line 1 "/first/second/third/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/a.cpp"
  CHECK(place_of(std::source_location::current()) ==
        "third/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/a.cpp");
#line 1 "short.cpp"
  CHECK(place_of(std::source_location::current()) == "short.cpp");
#line 1 "/first/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx"
  CHECK(place_of(std::source_location::current()).size() == 94);
}

namespace {

/// LOCKSTEP_STATE_DIR while it lives.
class StateFolder {
 public:
  StateFolder() { ::setenv("LOCKSTEP_STATE_DIR", folder_.path().c_str(), 1); }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  ~StateFolder() { ::unsetenv("LOCKSTEP_STATE_DIR"); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("processes with the same rank by mistake each get a record: joining the job tells them of each other",
          "[comm][07]") {
  const test::TemporaryFolder folder;
  constexpr int kThreads = 4, kRounds = 200;
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          try {
            const comm::FlightRecorder recorder(folder.path().string(), 1, 2, 0);
          } catch (const Error&) {
            ++failures;
          }
        }
      });
    }
  }
  CHECK(failures == 0);
  CHECK(comm::read_flight_record(comm::flight_record_path(folder.path(), 1)).rank == 1);
}

TEST_CASE("ranks of another launcher share a folder by where they meet, and the last one removes it", "[comm][07]") {
  const StateFolder state;
  const net::SocketAddress meeting{"fe80::1%eth0", 29501};
  CHECK(comm::flight_folder_name(meeting) == "fe80__1_eth0-29501");
  auto first = comm::record_in_own_folder(meeting, 0, 2, 0);
  auto second = comm::record_in_own_folder(meeting, 1, 2, 0);
  REQUIRE(first);
  REQUIRE(second);
  std::filesystem::path folder;
  {
    const comm::FlightFolder third(comm::flight_folder_name(meeting));
    folder = third.path();
  }
  for (const int rank : {0, 1}) CHECK(comm::read_flight_record(comm::flight_record_path(folder, rank)).rank == rank);
  first.reset();
  CHECK(std::filesystem::exists(folder));
  second.reset();
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("records of ranks that were killed are not those of the next job at that place", "[comm][07]") {
  const StateFolder state;
  const net::SocketAddress meeting{"node1", 29501};
  const std::filesystem::path folder = state_folder() / "job-node1-29501";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::ofstream(folder / "rank3.flight") << "left behind";
  const auto recorder = comm::record_in_own_folder(meeting, 0, 2, 0);
  REQUIRE(recorder);
  CHECK(std::filesystem::exists(folder / "rank0.flight"));
  CHECK_FALSE(std::filesystem::exists(folder / "rank3.flight"));
}

TEST_CASE("a rank goes on if it cannot record", "[comm][07]") {
  ::setenv("LOCKSTEP_STATE_DIR", "/proc/nothing", 1);
  CHECK(comm::record_in_own_folder({"node1", 29501}, 0, 2, 0) == nullptr);
  ::unsetenv("LOCKSTEP_STATE_DIR");
}
