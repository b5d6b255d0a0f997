#include "launch/watching/job_log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/unique_fd.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using launch::OutputStream;
using launch::StreamChoice;

namespace {

std::vector<nlohmann::json> events_in(const std::filesystem::path& file) {
  std::vector<nlohmann::json> events;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

launch::LogOptions options_in(const std::filesystem::path& folder) {
  return {.folder = folder, .job = "job", .tee = *StreamChoice::parse("1"), .redirects = *StreamChoice::parse("0:2")};
}

// The status from waitpid() for a process that ended so.
int exited(int code) { return code << 8; }

}  // namespace

TEST_CASE("streams are chosen in torchrun's spelling, for all ranks or by local rank", "[launch]") {
  const auto both = StreamChoice::parse("3");
  REQUIRE(both);
  CHECK(both->contains(7, OutputStream::kOut));
  CHECK(both->contains(7, OutputStream::kErr));
  const auto some = StreamChoice::parse("0:1,2:3,3:0");
  REQUIRE(some);
  CHECK(some->contains(0, OutputStream::kOut));
  CHECK_FALSE(some->contains(0, OutputStream::kErr));
  CHECK_FALSE(some->contains(1, OutputStream::kOut));
  CHECK(some->contains(2, OutputStream::kErr));
  CHECK_FALSE(some->contains(3, OutputStream::kErr));
  CHECK_FALSE(StreamChoice().contains(0, OutputStream::kOut));
  CHECK(StreamChoice::all().contains(0, OutputStream::kErr));
  for (const char* wrong : {"", "4", "-1", "x", "0:4", "0:", ":1", "0:1,", "0:1,2", "0:1,0:2", "1:1:1", "0:1 2:3"})
    CHECK_FALSE(StreamChoice::parse(wrong).has_value());
}

TEST_CASE("output is in a file per rank, stream and attempt, unchanged", "[launch]") {
  const test::TemporaryFolder folder;
  launch::RankLogs logs(options_in(folder.path()));
  logs.begin_attempt(0, 4, 2);
  logs.write(0, OutputStream::kOut, "half a ");
  logs.write(0, OutputStream::kOut, "line\rof \x01 bytes");
  logs.write(0, OutputStream::kErr, "err\n");
  logs.write(1, OutputStream::kErr, "nobody keeps this\n");
  logs.begin_attempt(1, 4, 2);
  logs.write(0, OutputStream::kOut, "again\n");
  const auto job = folder / "job";
  CHECK(read_file(job / "attempt_0" / "4" / "stdout.log") == "half a line\rof \x01 bytes");
  CHECK(read_file(job / "attempt_0" / "4" / "stderr.log") == "err\n");
  CHECK(read_file(job / "attempt_0" / "5" / "stdout.log").empty());
  CHECK_FALSE(std::filesystem::exists(job / "attempt_0" / "5" / "stderr.log"));
  CHECK(read_file(job / "attempt_1" / "4" / "stdout.log") == "again\n");
  CHECK(logs.is_shown(0, OutputStream::kOut));
  CHECK_FALSE(logs.is_shown(0, OutputStream::kErr));
  CHECK(logs.is_shown(1, OutputStream::kErr));
}

TEST_CASE("a folder for logs that cannot be made is an error that names it", "[launch]") {
  const test::TemporaryFolder folder;
  write_file(folder / "job", "a file\n");
  launch::RankLogs logs(options_in(folder.path()));
  CHECK_THROWS_WITH(logs.begin_attempt(0, 0, 1), ContainsSubstring("--log-dir") && ContainsSubstring("attempt_0"));
  CHECK_THROWS_WITH(launch::EventLog(folder / "job" / "events.jsonl"), ContainsSubstring("events.jsonl"));
}

TEST_CASE("a full disk costs events and output, not the job, and is said once", "[launch]") {
  const test::CapturedStderr captured;
  launch::EventLog events("/dev/full");
  events.write("start", {});
  events.write("end", {});
  const std::string text = captured.text();
  const std::size_t first = text.find("events are lost: writing /dev/full: No space left on device");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("events are lost", first + 1) == std::string::npos);
}

TEST_CASE("output that cannot be written is said to be lost, once, with the rank's file", "[launch]") {
  const test::TemporaryFolder folder;
  const auto file = folder / "job" / "attempt_0" / "5" / "stdout.log";
  std::filesystem::create_directories(file.parent_path());
  std::filesystem::create_symlink("/dev/full", file);
  launch::RankLogs logs(options_in(folder.path()));
  logs.begin_attempt(0, 4, 2);
  const test::CapturedStderr captured;
  logs.write(1, OutputStream::kOut, "one line\n");
  logs.write(1, OutputStream::kOut, "another\n");
  const std::string text = captured.text();
  const std::size_t first = text.find("output of ranks is lost");
  REQUIRE(first != std::string::npos);
  CHECK_THAT(text, ContainsSubstring(file.string()) && ContainsSubstring("No space left on device"));
  CHECK(text.find("output of ranks is lost", first + 1) == std::string::npos);
}

TEST_CASE("a signal costs no event", "[launch]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "events").string();
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  const UniqueFd reader(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  launch::EventLog events(file);
  const UniqueFd filler(::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  while (::write(filler.get(), "\n", 1) == 1) continue;  // full: the next write waits
  struct sigaction interrupt {};
  struct sigaction before {};
  interrupt.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGUSR2, &interrupt, &before);
  const test::CapturedStderr captured;
  std::string text;
  std::jthread other([&text, &reader, writer = pthread_self()] {
    for (int i = 0; i < 50; ++i) {
      pthread_kill(writer, SIGUSR2);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const auto limit = Deadline::after(std::chrono::seconds(20));
         text.find("restart") == std::string::npos && !limit.has_expired();) {
      char piece[4096];
      const ssize_t bytes = ::read(reader.get(), piece, sizeof piece);
      if (bytes > 0) text.append(piece, static_cast<std::size_t>(bytes));
    }
  });
  events.write("restart", {});
  other.join();
  sigaction(SIGUSR2, &before, nullptr);
  CHECK_THAT(text, ContainsSubstring("\"event\":\"restart\""));
  CHECK(captured.text().empty());
}

// As on a disk that has some bytes left, and later more.
TEST_CASE("an event that was cut does not swallow the next", "[launch]") {
  const test::TemporaryFolder folder;
  const test::CapturedStderr captured;
  launch::EventLog events(folder / "events.jsonl");
  events.write("start", {});
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = std::filesystem::file_size(folder / "events.jsonl") + 20;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  events.write("cut", {});
  events.write("lost", {});
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, ignored);
  events.write("end", {});
  events.write("restart", {});
  std::ifstream stream(folder / "events.jsonl");
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    names.push_back(event.is_discarded() ? "torn" : event.at("event").get<std::string>());
  }
  CHECK(names == std::vector<std::string>{"start", "torn", "end", "restart"});
  CHECK_THAT(captured.text(), ContainsSubstring("events are lost"));
}

TEST_CASE("events are lines of JSON with the time in UTC, the generation and the rank", "[launch]") {
  const test::TemporaryFolder folder;
  const auto file = folder / "logs" / "events.jsonl";
  {
    launch::JobLog log(file, std::nullopt);
    log.start(0, {"train", "--steps", "3"}, 2, 2, "/flight");
    log.rank_started(0, 4711);
    log.rank_ended(0, exited(3));
    log.rank_ended(1, SIGKILL);
    log.failure(0, "exited with code 3\xff");
    log.signal(SIGTERM, "launcher");
    log.end(3);
    log.restart(1, "rank 2 failed");
    log.start(1, {"train"}, 0, 4, "/flight");
  }
  launch::JobLog(file, std::nullopt).end(0);  // a second launcher adds to the file
  const auto events = events_in(file);
  REQUIRE(events.size() == 10);
  const std::regex utc(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
  for (const auto& event : events) CHECK(std::regex_match(event.at("time").get<std::string>(), utc));
  CHECK(events[0].at("event") == "start");
  CHECK(events[0].at("command") == nlohmann::json({"train", "--steps", "3"}));
  CHECK(events[1].at("rank") == 2);
  CHECK(events[1].at("pid") == 4711);
  CHECK(events[2].at("code") == 3);
  CHECK_FALSE(events[2].contains("signal"));
  CHECK(events[3].at("rank") == 3);
  CHECK(events[3].at("code") == 137);
  CHECK(events[3].at("signal") == "SIGKILL");
  CHECK(events[4].at("what") == "exited with code 3\xEF\xBF\xBD");
  CHECK(events[5].at("signal") == "SIGTERM");
  CHECK(events[6].at("generation") == 0);
  CHECK(events[7].at("event") == "restart");
  CHECK(events[7].at("generation") == 1);
  CHECK(events[8].at("generation") == 1);
  CHECK(events[9].at("code") == 0);
}
