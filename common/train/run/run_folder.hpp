#pragma once
/// @file
/// Where a run leaves its files.
#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace lockstep::run {

/// Makes a new folder `out/DATE-LABEL-N` with the first free N from 1 on. mkdir decides who gets a name, so two
/// jobs that start at once never share a folder.
/// @param now  For the date (local time).
/// @throws IoError  `out` cannot be made or written; names it.
[[nodiscard]] std::filesystem::path make_run_folder(
    const std::filesystem::path& out, const std::string& label,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

/// What a run trains (RunOptions::task), as its options.json says: empty for a GPT, and where there is no such file.
[[nodiscard]] std::string task_of(const std::filesystem::path& run);

/// The run of that task in `out` whose checkpoint was saved last, or nothing where no run has one.
/// @param task  As task_of(); empty: a GPT.
/// @throws IoError  `out` is there and cannot be read.
[[nodiscard]] std::optional<std::filesystem::path> latest_run(const std::filesystem::path& out,
                                                              const std::string& task = "");

/// A run, and perhaps one of its checkpoints.
struct RunAndCheckpoint {
  std::filesystem::path run;                        ///< The run's folder.
  std::optional<std::filesystem::path> checkpoint;  ///< Empty: the newest is meant.
};

/// What a person may name to continue a run: its folder, the folder of its checkpoints, or one of these.
/// @throws UsageError  A checkpoint that is not in a run's folder.
[[nodiscard]] RunAndCheckpoint find_run(const std::filesystem::path& named);

/// What a run says it has communicated by, in its options.json, beside what it was asked for ("auto").
inline constexpr const char* kBackendUsed = "backend_used";

/// The options of a run: its options.json, or, if that is damaged, those saved with its newest checkpoint (and a
/// warning). Of a run from before there was kBackendUsed, the backend "ring" is read as "auto", which it meant.
/// @throws IoError, FormatError  Neither can be read.
[[nodiscard]] nlohmann::json read_options(const std::filesystem::path& run);

/// The folder that `run`'s checkpoints stand in.
[[nodiscard]] std::filesystem::path checkpoints_of(const std::filesystem::path& run);

/// Writes a file beside `path` and renames it, so that a reader never sees half of it.
/// @throws IoError  Names the file.
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace lockstep::run
