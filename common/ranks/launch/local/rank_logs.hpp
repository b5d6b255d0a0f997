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

/// Options for log files.
struct LogOptions {
  std::filesystem::path folder;  ///< --log-dir. Files are in folder/job/attempt_0/rank/stdout.log and stderr.log.
  std::string job;               ///< Name of the job's folder.
  StreamChoice tee;              ///< Streams written to their file and shown.
  StreamChoice redirects;        ///< Streams only written to their file.
};

/// A name for a job's folder, unique on this host: "train_gpt_ddp-20261123-130541-4711" (UTC, process).
[[nodiscard]] std::string job_name(const std::string& program);

/// Writes ranks' output to files, laid out as by torchrun, but named by the job's rank instead of the local rank, so
/// that several hosts may share a folder. Bytes are written unchanged and at once. Single-threaded.
class RankLogs {
 public:
  /// @param options  The folder and the streams.
  explicit RankLogs(LogOptions options) : options_(std::move(options)) {}

  /// Starts the files of a new attempt.
  /// @param attempt  From 0. @param first_rank  The job's rank of local rank 0. @param count  Ranks on this host.
  /// @throws IoError  A folder or file cannot be made.
  void begin_attempt(int attempt, int first_rank, int count);

  /// @param local_rank  Below the count. If the disk is full, bytes are lost, and the first loss is reported on
  ///                    standard error; the job goes on.
  void write(int local_rank, OutputStream stream, std::string_view bytes) noexcept;

  /// Whether the stream is also shown.
  [[nodiscard]] bool is_shown(int local_rank, OutputStream stream) const noexcept;

  /// Folder of the current attempt.
  [[nodiscard]] std::filesystem::path attempt_folder() const;
  /// Folder of all attempts.
  [[nodiscard]] std::filesystem::path job_folder() const { return options_.folder / options_.job; }

 private:
  [[nodiscard]] std::filesystem::path rank_folder(int local_rank) const;

  LogOptions options_;
  int attempt_ = 0;
  int first_rank_ = 0;
  std::map<std::pair<int, OutputStream>, UniqueFd> files_;
  bool has_failed_ = false;
};

}  // namespace lockstep::launch
