#include "launch/watching/flight_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/number_list.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "launch/job_folder.hpp"
#include "launch/watching/flight_files.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

std::string indented(const std::string& lines) {
  std::istringstream stream(lines);
  std::string text;
  for (std::string line; std::getline(stream, line);) text += "    " + line + "\n";
  return text;
}

// The failures reported to the ranks, each text once, with the ranks that got it.
std::string verdicts(const FlightFiles& records) {
  std::map<std::string, std::vector<int>> told;  // message to ranks
  for (const auto& [rank, record] : records.of_rank) {
    if (record.failure) told[record.failure->message].push_back(rank);
  }
  std::string text;
  for (const auto& [message, ranks] : told) {
    text += concat("  ", message, " (told to ", ranks.size() == 1 ? "rank " : "ranks ", list_numbers(ranks), ")\n");
  }
  return text;
}

// One rank's report that another rank (or the rank itself) is at fault.
struct Accusation {
  int witness;
  int culprit;
  std::int64_t when;
};

std::vector<Accusation> accusations_in(const FlightFiles& records) {
  std::vector<Accusation> accusations;
  for (const auto& [rank, record] : records.of_rank) {
    if (record.failure && record.failure->culprit >= 0)
      accusations.push_back({rank, record.failure->culprit, record.failure->told_ns});
  }
  return accusations;
}

// A rank that others had already blamed is not a credible witness: it was stopped or cut off, and when it resumes it
// finds the others gone.
bool is_credible(const Accusation& accusation, const std::vector<Accusation>& all) {
  return std::ranges::none_of(all, [&](const Accusation& other) {
    return other.culprit == accusation.witness && other.witness != accusation.witness && other.when < accusation.when;
  });
}

// The rank that most credible witnesses name; in a tie, the one named first.
std::optional<int> most_accused(const std::vector<Accusation>& all) {
  struct Case {
    int witnesses = 0;
    std::int64_t first = INT64_MAX;
  };
  std::map<int, Case> cases;
  for (const Accusation& accusation : all) {
    if (!is_credible(accusation, all)) continue;
    Case& of_culprit = cases[accusation.culprit];
    ++of_culprit.witnesses;
    of_culprit.first = std::min(of_culprit.first, accusation.when);
  }
  if (cases.empty()) return std::nullopt;
  const auto strength = [](const auto& each) { return std::pair(each.second.witnesses, -each.second.first); };
  return std::ranges::max_element(cases, {}, strength)->first;
}

// The culprit reported to the ranks, or -1 if they were told of a failure without a culprit (a broken connection);
// without any report, the first rank that failed; else -1.
int culprit_of(const FlightFiles& records, const std::optional<FirstFailure>& first) {
  if (const auto accused = most_accused(accusations_in(records))) return *accused;
  const bool was_told =
      std::ranges::any_of(records.of_rank, [](const auto& of_rank) { return of_rank.second.failure.has_value(); });
  return first && !was_told ? first->rank : -1;
}

// The culprit first, then ranks that are behind, then the others.
std::vector<int> order_of(const FlightFiles& records, int culprit) {
  std::vector<int> ranks;
  for (const auto& [rank, record] : records.of_rank) ranks.push_back(rank);
  std::ranges::stable_sort(ranks, {},
                           [&](int rank) { return std::pair(rank != culprit, entered(records.of_rank.at(rank))); });
  return ranks;
}

}  // namespace

std::optional<int> accused_rank(const fs::path& folder) {
  return most_accused(accusations_in(read_flight_files(folder)));
}

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
      text += concat("  and ", counted(records.of_rank.size() - most_ranks, "other rank"), "\n");
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
