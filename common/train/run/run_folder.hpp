#pragma once
/// @file
/// The folder in which a run keeps its files.
#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace lockstep::run {

/// Makes a new folder `out/DATE-LABEL-N` with the first free N from 1 on. mkdir is atomic, so two jobs that start at
/// once never share a folder.
/// @param now  For the date (local time).
/// @throws IoError  `out` cannot be created or written; names it.
[[nodiscard]] std::filesystem::path make_run_folder(
    const std::filesystem::path& out, const std::string& label,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

/// The task of a run (RunOptions::task) from its options.json: empty for a GPT, and if there is no such file.
[[nodiscard]] std::string task_of(const std::filesystem::path& run);

/// The run of that task in `out` with the most recently saved checkpoint, or nothing if no run has one.
/// @param task  As task_of(); empty: a GPT.
/// @throws IoError  `out` exists but cannot be read.
[[nodiscard]] std::optional<std::filesystem::path> latest_run(const std::filesystem::path& out,
                                                              const std::string& task = "");

/// A run, and perhaps one of its checkpoints.
struct RunAndCheckpoint {
  std::filesystem::path run;
  std::optional<std::filesystem::path> checkpoint;  ///< Empty: the newest.
};

/// Resolves the name given to --resume: a run's folder, the folder of its checkpoints, or one of these.
/// @throws UsageError  A checkpoint outside a run's folder.
[[nodiscard]] RunAndCheckpoint find_run(const std::filesystem::path& named);

/// @param folder       Given to --resume, as find_run() resolves it.
/// @throws UsageError  It does not exist, or is no run's folder: names the latest run of the task in it.
void require_run(const std::filesystem::path& folder, const std::string& task);

/// The file of a run's options.
inline constexpr const char* kOptionsFile = "options.json";

/// Key in options.json for the backend in use, if "auto" was asked for.
inline constexpr const char* kBackendUsed = "backend_used";

/// The options of a run: its options.json or, if that is damaged or missing, those saved with its newest checkpoint
/// (with a warning). In runs older than kBackendUsed, the backend "ring" is read as "auto", its meaning then.
/// @throws IoError, FormatError  Neither can be read.
[[nodiscard]] nlohmann::json read_options(const std::filesystem::path& run);

[[nodiscard]] std::filesystem::path checkpoints_of(const std::filesystem::path& run);

/// Writes a temporary file next to `path` and renames it, so that a reader never sees a partial file.
/// @throws IoError  Names the file.
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace lockstep::run
