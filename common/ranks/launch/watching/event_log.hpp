#pragma once
/// @file
/// What happens to a job, as lines of JSON for programs that watch it.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// Appends to a file: one line per event, `{"time": "2026-11-23T13:05:41.250Z", "event": "rank_ended", ...}`, the time
/// in UTC. Each line is written with one system call, so that several launchers (one per host, or a job and the one
/// that is started again after it) may share a file. Only a line that a full disk has cut is followed by an end of line
/// of its own, so that it does not swallow the next. Thread safety: any thread.
class EventLog {
 public:
  /// @param file  Made where it does not exist, with its folder; else lines are added. @throws IoError  Not possible.
  explicit EventLog(const std::filesystem::path& file);

  /// Writes an event. Where the disk is full, the event is lost, and the first time a line on standard error says so:
  /// a job does not end for it.
  /// @param name    "start", "rank_ended", ... @param fields  An object with what else is known, or null.
  void write(std::string_view name, const nlohmann::ordered_json& fields) noexcept;

  /// Where it writes.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  bool has_failed_ = false;
  bool is_torn_ = false;  // the last line has no end
};

}  // namespace lockstep::launch
