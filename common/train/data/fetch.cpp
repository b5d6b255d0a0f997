#include "data/fetch.hpp"

#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "base/sha256.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

std::string advice(const FetchSource& source, const fs::path& destination) {
  return concat("; fetch ", source.url, " by other means and put it at ", destination.string(),
                ", or train on any text with --data FILE");
}

std::string describe(const FetchSource& source, FinishedProcess finished) {
  while (finished.errors.ends_with('\n')) finished.errors.pop_back();
  const std::string messages = finished.errors.empty() ? "" : ": " + finished.errors;
  if (finished.exit_code < 128) return concat(source.program, " ended with exit code ", finished.exit_code, messages);
  return concat(source.program, " was ended by signal ", finished.exit_code - 128, " (limit ", source.time_limit_s,
                " s)", messages);
}

void download(const FetchSource& source, const fs::path& file, const fs::path& destination) {
  const std::vector<std::string> arguments = {source.program,
                                              "--fail",
                                              "--location",
                                              "--silent",
                                              "--show-error",
                                              "--max-time",
                                              std::to_string(source.time_limit_s),
                                              "--output",
                                              file.string(),
                                              source.url};
  // The program's own limit expires first, so that its message is seen; ours is for a program without one.
  const auto limit = std::chrono::seconds(source.time_limit_s) + std::chrono::seconds(1);
  FinishedProcess finished;
  try {
    finished = run_process({.command = arguments, .empty_streams = {STDIN_FILENO}}, Collect::kErrors,
                           {.time = limit, .output_bytes = 4096});
  } catch (const IoError& error) {
    throw IoError(
        concat(error.what(), " (to install it: apt install ", source.program, ")", advice(source, destination)));
  }
  if (finished.exit_code != 0)
    throw IoError(
        concat("could not fetch ", source.url, ": ", describe(source, finished), advice(source, destination)));
  const std::string found = sha256_hex(read_file(file));
  if (found != source.sha256)
    throw FormatError(concat("what arrived from ", source.url, " has SHA-256 ", found, ", expected ", source.sha256,
                             advice(source, destination)));
}

}  // namespace

FetchSource tiny_shakespeare_source() {
  return {.url = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
          .sha256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"};
}

void fetch(const FetchSource& source, const fs::path& destination) {
  if (fs::is_regular_file(destination) && sha256_hex(read_file(destination)) == source.sha256) return;
  const fs::path folder = destination.parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw IoError("making the folder " + folder.string(), error.value());
  // Named by process id, so that two fetches at once do not write into one file.
  const fs::path temporary = concat(destination.string(), ".part", ::getpid());
  try {
    download(source, temporary, destination);
    sync_to_disk(temporary);
    fs::rename(temporary, destination, error);
    if (error) throw IoError(concat("renaming ", temporary.string(), " to ", destination.string()), error.value());
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}

void fetch_tiny_shakespeare(const fs::path& destination) { fetch(tiny_shakespeare_source(), destination); }

}  // namespace lockstep::data
