#include "launch/watching/live_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "base/counted.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "base/timing.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "launch/hosts/arrivals.hpp"
#include "launch/watching/flight_files.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;
using comm::FlightEntry;
using comm::FlightRecord;
using comm::FlightState;

FlightFiles read_records(const fs::path& folder) {
  FlightFiles records = read_flight_files(folder);
  if (records.of_rank.empty()) {
    throw IoError(concat("no rank records its collectives in ", folder.string(),
                         "; ranks do from the time they join, in the folder that LOCKSTEP_FLIGHT_DIR names for them",
                         records.problems.empty() ? "" : "\n" + records.problems));
  }
  return records;
}

// The oldest collective that has begun and not ended, in which the rank waits.
const FlightEntry* pending(const FlightRecord& record) {
  const auto found = std::ranges::find_if(record.entries, [](const FlightEntry& entry) {
    return is_of_all(entry) && (entry.state == FlightState::kIssued || entry.state == FlightState::kRunning);
  });
  return found == record.entries.end() ? nullptr : &*found;
}

std::string since(std::int64_t begin_ns) {
  return format_seconds(std::chrono::nanoseconds(std::max<std::int64_t>(0, steady_now_ns() - begin_ns)));
}

// The state letter in /proc/PID/stat; empty if there is no such process.
std::optional<char> process_state(std::int64_t process_id) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t end_of_name = line.rfind(')');  // the name may hold anything
  if (end_of_name == std::string::npos || end_of_name + 2 >= line.size()) return std::nullopt;
  return line[end_of_name + 2];
}

// A problem of the process itself, with a leading comma; empty if it runs or waits.
std::string process_trouble(std::int64_t process_id) {
  const auto state = process_state(process_id);
  if (!state || *state == 'Z' || *state == 'X') return concat(", process ", process_id, " is gone");
  if (*state == 'T' || *state == 't') return concat(", process ", process_id, " is stopped (SIGSTOP or a debugger)");
  if (*state == 'D') return concat(", process ", process_id, " waits in the kernel (a disk or a device)");
  return "";
}

std::string place_of(const FlightEntry& entry) {
  return concat(describe(entry.fingerprint), ", ", entry.file, ":", entry.line);
}

std::string line_of(const FlightRecord& record, std::uint64_t most) {
  std::string text = concat("  rank ", record.rank);
  const std::uint64_t count = entered(record);
  if (const std::uint64_t behind = most - count; behind > 0) text += concat(", ", behind, " behind");
  text += process_trouble(record.process_id);
  if (const FlightEntry* const entry = pending(record)) {
    text += concat(": for ", since(entry->issued_ns), " in ", place_of(*entry));
  } else if (!record.entries.empty()) {
    const FlightEntry& last = record.entries.back();
    text += concat(": in no collective for ", since(std::max(last.ended_ns, last.issued_ns)), "; the last was ",
                   place_of(last));
  } else {
    text += ": has entered no collective yet";
  }
  return text + "\n";
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += concat(i == 0 ? "" : ", ", ranks[i]);
  return text;
}

// For each set of ranks that have not entered a collective, the ranks that wait for them.
std::string waits(const FlightFiles& records) {
  std::map<std::uint64_t, std::vector<int>> waiting;  // sequence to ranks
  std::map<std::uint64_t, std::string> names;
  std::vector<int> troubled;  // their processes are stopped, gone, or in the kernel
  for (const auto& [rank, record] : records.of_rank) {
    if (!process_trouble(record.process_id).empty()) troubled.push_back(rank);
    const FlightEntry* const entry = pending(record);
    if (entry == nullptr) continue;
    waiting[entry->fingerprint.sequence].push_back(rank);
    names[entry->fingerprint.sequence] = describe(entry->fingerprint);
  }
  std::string text;
  for (const auto& [sequence, ranks] : waiting) {
    std::vector<int> missing;
    for (const auto& [rank, record] : records.of_rank)
      if (entered(record) <= sequence) missing.push_back(rank);
    if (missing.empty()) {
      text += concat("all of them have entered ", names[sequence], ": ",
                     troubled.empty() ? "its data do not arrive, or one of them is slow"
                                      : concat("they wait for ", list_of(troubled)),
                     "\n");
    } else {
      text += concat(list_of(ranks), ranks.size() == 1 ? " waits" : " wait", " for ", list_of(missing), ", which ",
                     missing.size() == 1 ? "has" : "have", " not entered ", names[sequence], "\n");
    }
  }
  return text;
}

// Number of collectives that the most advanced rank has entered, compared between two polls.
std::uint64_t most_entered(const FlightFiles& records) {
  std::uint64_t most = 0;
  for (const auto& [rank, record] : records.of_rank) most = std::max(most, entered(record));
  return most;
}

// The program's output; empty if it cannot be run.
std::string output_of(const std::vector<std::string>& command) {
  constexpr std::chrono::seconds kLimit{30};  // for a large program's debug information
  try {
    return run_process({.command = command, .empty_streams = {STDIN_FILENO, STDERR_FILENO}}, Collect::kOutput,
                       {.time = kLimit})
        .output;
  } catch (const IoError&) {
    return "";
  }
}

// The lines with threads and frames in gdb's output.
std::string frames_in(const std::string& printed) {
  std::istringstream lines(printed);
  std::string frames;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("Thread") || line.starts_with("#")) frames += line + "\n";
  return frames;
}

}  // namespace

std::string live_summary(const fs::path& folder, std::chrono::milliseconds watch, std::size_t collectives) {
  const FlightFiles before = read_records(folder);
  std::this_thread::sleep_for(watch);
  const FlightFiles records = read_records(folder);
  const FlightRecord& any = records.of_rank.begin()->second;
  std::string text = concat(records.of_rank.size(), " of ", counted(any.world_size, "rank"),
                            records.of_rank.size() == 1 ? " is" : " are", " on this host");
  if (any.generation > 0) text += concat(", generation ", any.generation);
  text += "\n";
  const std::uint64_t most = most_entered(records), moved = most - std::min(most, most_entered(before));
  for (const auto& [rank, record] : records.of_rank) text += line_of(record, most);
  text += records.problems;
  const std::string arrivals = arrivals_summary(records, collectives);
  if (moved == 0) return text + concat("nothing has moved for ", format_seconds(watch), "\n", waits(records), arrivals);
  const double seconds = std::chrono::duration<double>(watch).count();
  return text + concat("the job moves: ", counted(moved, "collective"), " in ", seconds, " s\n", arrivals);
}

std::string live_stacks(const fs::path& folder) {
  const FlightFiles records = read_records(folder);
  std::string text;
  for (const auto& [rank, record] : records.of_rank) {
    const std::string process = std::to_string(record.process_id);
    std::string stack = output_of({"eu-stack", "-n", "12", "-p", process});
    if (stack.empty())
      stack = frames_in(output_of({"gdb", "-q", "-batch", "-p", process, "-ex", "thread apply all backtrace 12"}));
    if (stack.empty()) stack = "no stack: install elfutils or gdb, and see whether this user may trace the process\n";
    text += concat("rank ", rank, " (process ", process, ")\n", stack);
  }
  return text;
}

}  // namespace lockstep::launch
