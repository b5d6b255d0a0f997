#include "launch/flight_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/number_list.hpp"
#include "comm/flight_recorder.hpp"
#include "launch/flight_files.hpp"
#include "launch/job_folder.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

std::string indented(const std::string& lines) {
  std::istringstream stream(lines);
  std::string text;
  for (std::string line; std::getline(stream, line);) text += "    " + line + "\n";
  return text;
}

// What the ranks were told, each text once, with those who were told it.
std::string verdicts(const FlightFiles& records) {
  std::map<std::string, std::vector<int>> told;  // message to ranks
  for (const auto& [rank, record] : records.of_rank) {
    if (record.failure) told[record.failure->message].push_back(rank);
  }
  std::string text;
  for (const auto& [message, ranks] : told) {
    text += concat("  ", message, " (told to rank ", list_numbers(ranks), ")\n");
  }
  return text;
}

// The culprit that the ranks were told of, -1 where they were told of a failure that is not one rank's fault (a
// connection that broke); else the first rank to end badly; else -1.
int culprit_of(const FlightFiles& records, const std::optional<FirstFailure>& first) {
  bool was_told = false;
  for (const auto& [rank, record] : records.of_rank) {
    if (!record.failure) continue;
    if (record.failure->culprit >= 0) return record.failure->culprit;
    was_told = true;
  }
  return first && !was_told ? first->rank : -1;
}

// Culprit first, then whoever is behind, then the others.
std::vector<int> order_of(const FlightFiles& records, int culprit) {
  std::vector<int> ranks;
  for (const auto& [rank, record] : records.of_rank) ranks.push_back(rank);
  std::ranges::stable_sort(ranks, {},
                           [&](int rank) { return std::pair(rank != culprit, entered(records.of_rank.at(rank))); });
  return ranks;
}

}  // namespace

std::string flight_summary(const fs::path& folder, std::size_t count, std::size_t most_ranks) {
  const FlightFiles records = read_flight_files(folder);
  const std::optional<FirstFailure> first = read_first_failure(folder);
  const int culprit = culprit_of(records, first);
  std::uint64_t most = 0;
  for (const auto& [rank, record] : records.of_rank) most = std::max(most, entered(record));
  const bool has_entries =
      std::ranges::any_of(records.of_rank, [](const auto& of_rank) { return !of_rank.second.entries.empty(); });
  const std::string told = verdicts(records);
  if (!has_entries && told.empty()) return records.problems;
  std::string text = told;
  std::size_t shown = 0;
  for (const int rank : order_of(records, culprit)) {
    if (shown++ == most_ranks) {
      text += concat("  and ", records.of_rank.size() - most_ranks, " other ranks\n");
      break;
    }
    const comm::FlightRecord& record = records.of_rank.at(rank);
    const std::uint64_t behind = most - entered(record);
    text += concat("  rank ", rank, rank == culprit ? " (the culprit)" : "",
                   behind == 0 ? "" : concat(", ", behind, " behind"), ":\n");
    text += record.entries.empty() ? "    has entered nothing\n" : indented(comm::format_flight_record(record, count));
  }
  return text + records.problems;
}

}  // namespace lockstep::launch
