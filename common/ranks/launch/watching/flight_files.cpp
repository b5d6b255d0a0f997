#include "launch/watching/flight_files.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace lockstep::launch {

FlightFiles read_flight_files(const std::filesystem::path& folder) {
  FlightFiles files;
  std::error_code ignored;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".flight") continue;
    try {
      comm::FlightRecord record = comm::read_flight_record(entry.path().string());
      files.of_rank.emplace(record.rank, std::move(record));
    } catch (const Error& error) {
      files.problems += concat("  ", error.what(), "\n");
    }
  }
  return files;
}

bool is_of_all(const comm::FlightEntry& entry) noexcept {
  return entry.group == 0 && !is_point_to_point(entry.fingerprint.collective);
}

std::uint64_t entered(const comm::FlightRecord& record) noexcept {
  std::uint64_t count = 0;
  for (const comm::FlightEntry& entry : record.entries)
    if (is_of_all(entry)) count = std::max(count, entry.fingerprint.sequence + 1);
  return count;
}

}  // namespace lockstep::launch
