#include "launch/watching/flight_summary.hpp"

#include <stdlib.h>

#include <fstream>

#include "base/error.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "support/catch.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "lockstep-flight-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

void record(const Folder& folder, int rank, std::uint64_t collectives) {
  comm::FlightRecorder recorder(folder.path.string(), rank, 2, 0);
  for (std::uint64_t i = 0; i < collectives; ++i) {
    comm::Fingerprint fingerprint;
    fingerprint.sequence = i;
    recorder.update(recorder.add(0, fingerprint, std::source_location::current()), comm::FlightState::kDone);
  }
}

}  // namespace

TEST_CASE("the summary shows each rank's last collectives, and who is behind", "[launch]") {
  const Folder folder;
  record(folder, 1, 5);
  record(folder, 0, 7);
  const std::string text = launch::flight_summary(folder.path, 2);
  CHECK_THAT(text, ContainsSubstring("  rank 0:\n") && ContainsSubstring("  rank 1, 2 behind:\n"));
  CHECK_THAT(text, ContainsSubstring("#6 ") && ContainsSubstring("#4 ") && !ContainsSubstring("#2 "));
  CHECK(text.find("rank 1") < text.find("rank 0"));  // who is behind stands first
}

TEST_CASE("a job without collectives has no summary, and a damaged file is named", "[launch]") {
  const Folder folder;
  CHECK(launch::flight_summary(folder.path, 2).empty());
  record(folder, 0, 0);
  CHECK(launch::flight_summary(folder.path, 2).empty());
  std::ofstream(folder.path / "rank1.flight") << "not a record";
  CHECK_THAT(launch::flight_summary(folder.path, 2), ContainsSubstring("rank1.flight"));
}

TEST_CASE("the culprit stands first, then the ranks that are behind, after what the ranks were told", "[launch]") {
  const Folder folder;
  for (const int rank : {0, 1, 2, 3}) record(folder, rank, rank == 2 ? 5 : 7);
  const auto told = [&](int rank) {
    comm::FlightRecorder recorder(folder.path.string(), rank, 4, 0);
    recorder.add(0, {}, std::source_location::current());
    recorder.note_failure(3, "rank 3 died: its control connection closed");
    recorder.note_failure(1, "a later one");
  };
  told(0);
  told(1);
  const std::string text = launch::flight_summary(folder.path, 2);
  CHECK_THAT(text, ContainsSubstring("  rank 3 died: its control connection closed (told to ranks 0, 1)\n"));
  CHECK_THAT(text, !ContainsSubstring("a later one"));
  CHECK(text.find("  rank 3 (the culprit):\n") < text.find("  rank 0, 6 behind:\n"));
  CHECK(text.find("  rank 0, 6 behind:\n") < text.find("  rank 2, 2 behind:\n"));
}

TEST_CASE("of many ranks the first are shown, and all that were told the same share a line", "[launch]") {
  const Folder folder;
  for (int rank = 0; rank < 40; ++rank) {
    comm::FlightRecorder recorder(folder.path.string(), rank, 40, 0);
    recorder.add(0, {}, std::source_location::current());
    if (rank != 33) recorder.note_failure(33, "rank 33 died: its control connection closed");
  }
  const std::string text = launch::flight_summary(folder.path, 2, 16);
  CHECK_THAT(text, ContainsSubstring("rank 33 died: its control connection closed (told to ranks 0-32, 34-39)\n"));
  CHECK_THAT(text, ContainsSubstring("  rank 33 (the culprit):\n") && ContainsSubstring("  rank 14:\n"));
  CHECK_THAT(text, !ContainsSubstring("  rank 15:\n") && ContainsSubstring("  and 24 other ranks\n"));
}

TEST_CASE("messages between two ranks do not count as collectives of all", "[launch]") {
  const Folder folder;
  record(folder, 0, 3);
  comm::FlightRecorder recorder(folder.path.string(), 1, 2, 0);
  comm::Fingerprint fingerprint;
  fingerprint.sequence = 40;
  fingerprint.collective = comm::Collective::kRecv;
  recorder.add(0, fingerprint, std::source_location::current());
  CHECK_THAT(launch::flight_summary(folder.path, 2), ContainsSubstring("rank 1, 3 behind:"));
}

namespace {

// Rank `witness` is told, after those that were told before it, that `culprit` is at fault.
void accuse(const Folder& folder, int witness, int culprit) {
  comm::FlightRecorder recorder(folder.path.string(), witness, 8, 0);
  recorder.add(0, {}, std::source_location::current());
  recorder.note_failure(culprit, culprit < 0 ? "a connection broke" : concat("rank ", culprit, " is silent"));
}

int culprit_in(const Folder& folder) {
  const std::string text = launch::flight_summary(folder.path, 2), mark = " (the culprit)";
  const std::size_t end = text.find(mark);
  return end == std::string::npos ? -1 : std::stoi(text.substr(text.rfind(' ', end - 1)));  // - 1: before the mark
}

}  // namespace

TEST_CASE("a rank that wakes up and accuses those who gave it up is the culprit", "[launch][07]") {
  const Folder folder;
  SECTION("of two ranks") {
    accuse(folder, 1, 0);
    accuse(folder, 0, 1);
    CHECK(culprit_in(folder) == 0);
  }
  SECTION("of two ranks, the other way round") {
    accuse(folder, 0, 1);
    accuse(folder, 1, 0);
    CHECK(culprit_in(folder) == 1);
  }
  SECTION("though others believe it") {
    accuse(folder, 1, 0);
    accuse(folder, 0, 2);
    accuse(folder, 3, 2);
    CHECK(culprit_in(folder) == 0);
  }
}

TEST_CASE("the rank that most others name is the culprit, whoever spoke first", "[launch][07]") {
  const Folder folder;
  CHECK_FALSE(launch::accused_rank(folder.path).has_value());
  for (const int silent : {3, 5}) record(folder, silent, 1);
  accuse(folder, 0, 3);
  CHECK(culprit_in(folder) == 3);
  for (const int witness : {1, 2, 4}) accuse(folder, witness, 5);
  CHECK(culprit_in(folder) == 5);
  accuse(folder, 6, -1);  // was told of no rank
  CHECK(culprit_in(folder) == 5);
  CHECK(launch::accused_rank(folder.path) == 5);
}
