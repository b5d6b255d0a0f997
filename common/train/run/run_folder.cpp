#include "run/run_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/training_state.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCheckpoints = "checkpoints";

std::string date_of(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &local)};
}

// One unreadable run must not hide the others in a folder.
bool has_checkpoints(const fs::path& checkpoints) {
  try {
    return !checkpoint::CheckpointFolder(checkpoints).list().empty();
  } catch (const IoError& error) {
    Logger().warning(concat("passing over a run: ", error.what()));
    return false;
  }
}

bool is_missing(const fs::path& path) {
  std::error_code error;  // another error than this does not mean that nothing is there
  return fs::status(path, error).type() == fs::file_type::not_found;
}

// Old runs recorded "ring" for the default, which used shared memory on one host.
nlohmann::json with_todays_backend(nlohmann::json options) {
  const bool is_of_before = options.is_object() && !options.contains(kBackendUsed);
  if (is_of_before && options.contains("backend") && options["backend"] == "ring") options["backend"] = "auto";
  return options;
}

}  // namespace

fs::path make_run_folder(const fs::path& out, const std::string& label, std::chrono::system_clock::time_point now) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) throw IoError(concat("cannot make the folder ", out.string(), " for runs"), error.value());
  const std::string stem = date_of(now) + "-" + label + "-";
  for (int n = 1;; ++n) {
    fs::path folder = out / (stem + std::to_string(n));
    if (mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) throw IoError(concat("cannot make the run folder ", folder.string()), errno);
  }
}

fs::path checkpoints_of(const fs::path& run) { return run / kCheckpoints; }

RunAndCheckpoint find_run(const fs::path& named) {
  fs::path path = named.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "run/"
  std::error_code ignored;
  const bool is_checkpoint =
      checkpoint::step_of(path) ||
      fs::exists(path / checkpoint::kManifestFile, ignored);  // the latter: a checkpoint that was set aside
  if (!is_checkpoint && path.filename() != kCheckpoints) return {.run = named, .checkpoint = {}};
  // "step_00000004" relative to RUN/checkpoints, and "checkpoints" relative to RUN.
  const int levels = is_checkpoint ? 2 : 1;
  if (std::distance(path.begin(), path.end()) <= levels) path = fs::absolute(path).lexically_normal();
  const fs::path run = is_checkpoint ? path.parent_path().parent_path() : path.parent_path();
  if (is_checkpoint && path.parent_path().filename() != kCheckpoints) {
    throw UsageError(concat("--resume: ", named.string(), " is a checkpoint, but not in the folder '", kCheckpoints,
                            "' of a run, which has the run's options, log and tokenizer; put it there"));
  }
  return {.run = run, .checkpoint = is_checkpoint ? std::optional(path) : std::nullopt};
}

nlohmann::json read_options(const fs::path& run) {
  const fs::path file = run / kOptionsFile;
  const auto warn = [&](const char* state, const std::exception& error) {
    Logger().warning(
        concat(file.string(), state, "; the run's options are read from its newest checkpoint: ", error.what()));
  };
  try {
    return with_todays_backend(parse_json(read_file(file)));
  } catch (const nlohmann::json::exception& error) {
    warn(" is damaged", error);
  } catch (const IoError& error) {
    if (!is_missing(file) || !has_checkpoints(checkpoints_of(run))) throw;
    warn(" is missing", error);
  }
  return with_todays_backend(load_options(checkpoints_of(run)));
}

void require_run(const fs::path& folder, const std::string& task) {
  constexpr const char* kAdvice = "; name a run's folder, or one of its checkpoints";
  if (is_missing(folder)) throw UsageError(concat("--resume: ", folder.string(), " does not exist", kAdvice));
  if (!is_missing(folder / kOptionsFile) || !is_missing(checkpoints_of(folder))) return;
  const std::optional<fs::path> latest = latest_run(folder, task);
  throw UsageError(concat("--resume: ", folder.string(), " is no run's folder: it has no ", kOptionsFile,
                          latest ? concat("; its latest run is ", latest->string()) : kAdvice));
}

std::string task_of(const fs::path& run) {
  try {
    return read_options(run).value("task", "");
  } catch (const std::exception&) {
    return "";  // the error is reported when the options are read
  }
}

std::optional<fs::path> latest_run(const fs::path& out, const std::string& task) {
  std::optional<fs::path> latest;
  fs::file_time_type latest_time;
  std::error_code error;
  const fs::directory_iterator entries(out, error);
  const bool is_missing = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_missing) throw IoError(concat("looking for runs in ", out.string()), error.value());
  for (const fs::directory_entry& entry : entries) {
    const fs::path checkpoints = checkpoints_of(entry.path());
    if (!has_checkpoints(checkpoints)) continue;  // the first save may have been interrupted
    if (task_of(entry.path()) != task) continue;
    const fs::file_time_type time = fs::last_write_time(checkpoints, error);
    if (error || (latest && time <= latest_time)) continue;
    latest = entry.path();
    latest_time = time;
  }
  return latest;
}

void replace_file(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + "." + std::to_string(getpid());
  try {
    write_file(temporary, text);
    std::error_code error;
    fs::rename(temporary, path, error);
    if (error) throw IoError(concat("replacing ", path.string()), error.value());
  } catch (...) {  // do not fill a full disk with temporary files
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

}  // namespace lockstep::run
