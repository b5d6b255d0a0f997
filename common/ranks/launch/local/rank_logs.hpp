#pragma once
/// @file
/// The output of ranks in files: one per rank, stream and attempt.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"
#include "launch/local/output_merger.hpp"
#include "launch/local/stream_choice.hpp"

namespace lockstep::launch {

/// Where output goes besides the terminal.
struct LogOptions {
  std::filesystem::path folder;  ///< --log-dir. Files are in folder/job/attempt_0/rank/stdout.log and stderr.log.
  std::string job;               ///< Name of the job's folder.
  StreamChoice tee;              ///< Streams that are written to their file and shown.
  StreamChoice redirects;        ///< Streams that are only written to their file.
};

/// A name for a job's folder that no other job of this host gets: "train_gpt_ddp-20261123-130541-4711" (UTC, process).
[[nodiscard]] std::string job_name(const std::string& program);

/// Writes what ranks print to files, as torchrun lays them out, but with the rank of the job where torchrun has the
/// local one, so that several hosts may share a folder. Bytes arrive unchanged and at once. Single-threaded.
class RankLogs {
 public:
  /// @param options  Where files go, and which streams.
  explicit RankLogs(LogOptions options) : options_(std::move(options)) {}

  /// From here on, files are those of this attempt.
  /// @param attempt  From 0. @param first_rank  Of the job: that of local rank 0. @param count  Ranks on this host.
  /// @throws IoError  A folder or file cannot be made.
  void begin_attempt(int attempt, int first_rank, int count);

  /// @param local_rank  Below the count. Where the disk is full, bytes are lost, and the first time a line on standard
  ///                    error says so: a job does not end for its log.
  void write(int local_rank, OutputStream stream, std::string_view bytes) noexcept;

  /// Whether the stream is also shown.
  [[nodiscard]] bool is_shown(int local_rank, OutputStream stream) const noexcept;

  /// Folder of the attempt that runs.
  [[nodiscard]] std::filesystem::path attempt_folder() const;
  /// Folder of all attempts.
  [[nodiscard]] std::filesystem::path job_folder() const { return options_.folder / options_.job; }

 private:
  LogOptions options_;
  int attempt_ = 0;
  std::map<std::pair<int, OutputStream>, UniqueFd> files_;
  bool has_failed_ = false;
};

}  // namespace lockstep::launch
