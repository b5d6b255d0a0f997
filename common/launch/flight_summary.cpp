#include "launch/flight_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "comm/flight_recorder.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

struct Records {
  std::map<int, comm::FlightRecord> of_rank;
  std::string problems;
};

Records read_all(const fs::path& folder) {
  Records records;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".flight") continue;
    try {
      comm::FlightRecord record = comm::read_flight_record(entry.path().string());
      records.of_rank.emplace(record.rank, std::move(record));
    } catch (const Error& error) {
      records.problems += concat("  ", error.what(), "\n");
    }
  }
  return records;
}

// How many collectives of the whole job's group (0) a rank has entered: their numbers count from 0 without gaps.
std::uint64_t entered(const comm::FlightRecord& record) {
  std::uint64_t count = 0;
  for (const comm::FlightEntry& entry : record.entries) {
    if (entry.group == 0) count = std::max(count, entry.fingerprint.sequence + 1);
  }
  return count;
}

std::string indented(const std::string& lines) {
  std::istringstream stream(lines);
  std::string text;
  for (std::string line; std::getline(stream, line);) text += "    " + line + "\n";
  return text;
}

}  // namespace

std::string flight_summary(const fs::path& folder, std::size_t count) {
  const Records records = read_all(folder);
  std::uint64_t most = 0;
  for (const auto& [rank, record] : records.of_rank) most = std::max(most, entered(record));
  if (most == 0) return records.problems;
  std::string text;
  for (const auto& [rank, record] : records.of_rank) {
    const std::uint64_t behind = most - entered(record);
    text += concat("  rank ", rank, behind == 0 ? "" : concat(", ", behind, " behind"), ":\n");
    text += indented(comm::format_flight_record(record, count));
  }
  return text + records.problems;
}

}  // namespace lockstep::launch
