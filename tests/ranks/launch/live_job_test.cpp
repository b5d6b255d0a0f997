#include "launch/watching/live_job.hpp"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "launch/hosts/arrivals.hpp"
#include "launch/job_folder.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

comm::Fingerprint numbered(std::uint64_t sequence) {
  comm::Fingerprint fingerprint;
  fingerprint.sequence = sequence;
  return fingerprint;
}

// Enters that many collectives; all but the last are done, and that one as well if `is_done`.
void enter(comm::FlightRecorder& recorder, std::uint64_t count, bool is_done) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = recorder.add(0, numbered(i), std::source_location::current());
    if (is_done || i + 1 < count) recorder.update(entry, comm::FlightState::kDone);
  }
}

}  // namespace

TEST_CASE("of a job that hangs, who waits for whom is told with the collective and the line", "[launch]") {
  const test::TemporaryFolder folder;
  comm::FlightRecorder first(folder.path().string(), 0, 3, 0), second(folder.path().string(), 1, 3, 0),
      third(folder.path().string(), 2, 3, 0);
  enter(first, 5, false);
  enter(second, 4, true);
  enter(third, 5, false);
  const std::string text = launch::live_summary(folder.path(), 10ms);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("3 of 3 ranks are on this host\n"));
  CHECK_THAT(text, ContainsSubstring("  rank 0: for ") && ContainsSubstring("#4, ") &&
                       ContainsSubstring("live_job_test.cpp:"));
  CHECK_THAT(text, ContainsSubstring("  rank 1, 1 behind: in no collective for "));
  CHECK_THAT(text, ContainsSubstring("nothing has moved for "));
  CHECK_THAT(text, ContainsSubstring("ranks 0, 2 wait for rank 1, which has not entered "));
}

TEST_CASE("where all ranks have entered a collective, none of them is missing", "[launch]") {
  const test::TemporaryFolder folder;
  comm::FlightRecorder first(folder.path().string(), 0, 2, 3), second(folder.path().string(), 1, 2, 3);
  enter(first, 2, false);
  enter(second, 2, false);
  const std::string text = launch::live_summary(folder.path(), 10ms);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("2 of 2 ranks are on this host, generation 3\n"));
  CHECK_THAT(text, ContainsSubstring("all of them have entered "));
}

TEST_CASE("a job that moves says how fast, and blames nobody", "[launch]") {
  const test::TemporaryFolder folder;
  comm::FlightRecorder recorder(folder.path().string(), 0, 2, 0);
  enter(recorder, 1, true);
  const UniqueFd looks(::inotify_init1(IN_CLOEXEC));
  const std::string record = comm::flight_record_path(folder.path().string(), 0);
  REQUIRE(::inotify_add_watch(looks.get(), record.c_str(), IN_CLOSE_NOWRITE) >= 0);
  std::jthread rank([&] {  // goes on once its record has been read for the first time
    pollfd look{looks.get(), POLLIN, 0};
    ::poll(&look, 1, 20'000);
    enter(recorder, 3, true);
  });
  const std::string text = launch::live_summary(folder.path(), 1500ms);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("1 of 2 ranks is on this host\n"));
  CHECK_THAT(text, ContainsSubstring("the job moves: 2 collectives in 1.5 s\n") && !ContainsSubstring("wait"));
}

TEST_CASE("a stopped rank and one that is gone are named as that", "[launch]") {
  const test::TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    comm::FlightRecorder recorder(folder.path().string(), 1, 2, 0);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  const std::string stopped = launch::live_summary(folder.path(), 1ms);
  CHECK_THAT(stopped, ContainsSubstring(concat("rank 1, process ", child, " is stopped")));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  CHECK_THAT(launch::live_summary(folder.path(), 1ms), ContainsSubstring(concat("process ", child, " is gone")));
}

namespace {

// A record of collectives that a rank entered at these milliseconds.
comm::FlightRecord entered_at(int rank, const std::vector<double>& milliseconds, std::uint64_t first = 0) {
  comm::FlightRecord record{.rank = rank, .world_size = 3, .entries = {}, .groups = {}, .failure = {}};
  for (const double each : milliseconds) {
    comm::FlightEntry entry;
    entry.fingerprint = numbered(first++);
    entry.issued_ns = static_cast<std::int64_t>(each * 1e6);
    record.entries.push_back(entry);
  }
  return record;
}

}  // namespace

TEST_CASE("the rank that comes last is named, with how often and by how much", "[launch][07]") {
  launch::FlightFiles files;
  files.of_rank[0] = entered_at(0, {10, 30, 50, 70, 90});
  files.of_rank[1] = entered_at(1, {14, 34, 50.5, 78, 94});
  files.of_rank[2] = entered_at(2, {11, 31, 51, 71});  // and not yet the last one
  const std::string text = launch::arrivals_summary(files, 100);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("at the last 4 collectives") && ContainsSubstring("a full bar is 8.0 ms"));
  CHECK_THAT(text, ContainsSubstring("  rank 0: last 0 times, 0.00 ms in the median, 0.00 ms at most  ▁▁▁▁\n"));
  CHECK_THAT(text, ContainsSubstring("  rank 1: last 3 times, 4.0 ms in the median, 8.0 ms at most  ▅▅▁█\n"));
  CHECK_THAT(text, ContainsSubstring("  rank 2: last 1 time, 1.0 ms in the median, 1.0 ms at most  ▂▂▂▂\n"));
  CHECK_THAT(text, ContainsSubstring("the others wait for rank 1, which comes last in 3 of 4, 4.0 ms after the first"));
  CHECK_THAT(launch::arrivals_summary(files, 2), ContainsSubstring("at the last 2 collectives"));
}

TEST_CASE("ranks that come together are not blamed, nor is one that came late once", "[launch][07]") {
  launch::FlightFiles files;
  CHECK(launch::arrivals_summary(files, 100).empty());
  files.of_rank[0] = entered_at(0, {10, 20, 30, 40}, 7);
  CHECK(launch::arrivals_summary(files, 100).empty());  // with whom should it be compared?
  SECTION("noise") { files.of_rank[1] = entered_at(1, {10.2, 20.2, 30.2, 40.2}, 7); }
  SECTION("once") { files.of_rank[1] = entered_at(1, {10, 20, 90, 40}, 7); }
  CHECK_THAT(launch::arrivals_summary(files, 100), ContainsSubstring("no rank stands out\n"));
}

TEST_CASE("a folder without records says what to set", "[launch]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(launch::live_summary(folder.path(), 1ms), ContainsSubstring("LOCKSTEP_FLIGHT_DIR"));
}

TEST_CASE("running jobs are those whose launcher lives", "[launch]") {
  const test::TemporaryFolder state;  // in the user's own one, jobs of other tests come and go
  ::setenv("LOCKSTEP_STATE_DIR", state.path().c_str(), 1);
  CHECK(launch::running_jobs().empty());
  {
    const launch::JobFolder job;
    CHECK(launch::running_jobs() == std::vector<std::filesystem::path>{job.path()});
  }
  CHECK(launch::running_jobs().empty());
  ::unsetenv("LOCKSTEP_STATE_DIR");
}
