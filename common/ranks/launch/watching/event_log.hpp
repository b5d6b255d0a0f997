#pragma once
/// @file
/// A job's events as lines of JSON, for programs that watch it.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// Appends to a file: one line per event, `{"time": "2026-11-23T13:05:41.250Z", "event": "rank_ended", ...}`, the time
/// in UTC. Each line is written with one system call, so that several launchers (one per host, or a job and its
/// restart) may share a file. A line that a full disk has cut is ended separately, so that the next one stays intact.
/// Thread safety: any thread.
class EventLog {
 public:
  /// @param file  Created with its folder if it does not exist; else appended to. @throws IoError  Not possible.
  explicit EventLog(const std::filesystem::path& file);

  /// Writes an event. If the disk is full, the event is lost, and the first loss is reported on standard error; the job
  /// goes on.
  /// @param name    "start", "rank_ended", ... @param fields  An object with further fields, or null.
  void write(std::string_view name, const nlohmann::ordered_json& fields) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  bool has_failed_ = false;
  bool is_torn_ = false;  // the last line lacks its line end
};

}  // namespace lockstep::launch
