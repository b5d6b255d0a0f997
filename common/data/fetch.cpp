#include "data/fetch.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

std::string advice(const FetchSource& source, const fs::path& destination) {
  return concat("; fetch ", source.url, " by other means and put it at ", destination.string(),
                ", or train on any text with --data FILE");
}

struct Outcome {
  int wait_status = 0;
  std::string messages;  // the end of what the program wrote to standard error
};

// Starts `arguments` with standard error in `error_pipe`.
pid_t spawn(const std::vector<std::string>& arguments, int error_pipe) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, error_pipe, STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw IoError("cannot start " + arguments[0], error);
  return pid;
}

// Waits for `pid`, killing it at the deadline.
int wait_for(pid_t pid, const Deadline& deadline) {
  for (int status = 0;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) throw IoError("waiting for the download", errno);
    if (deadline.has_expired()) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Outcome run_program(const std::vector<std::string>& arguments, const Deadline& deadline) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw IoError("making a pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t pid = spawn(arguments, write_end.get());
  write_end.reset();
  Outcome outcome{.wait_status = wait_for(pid, deadline), .messages = {}};
  std::array<char, 4096> text{};
  const ssize_t count = ::read(read_end.get(), text.data(), text.size());
  if (count > 0) outcome.messages.assign(text.data(), static_cast<std::size_t>(count));
  while (!outcome.messages.empty() && outcome.messages.back() == '\n') outcome.messages.pop_back();
  return outcome;
}

std::string describe(const FetchSource& source, const Outcome& outcome) {
  const std::string messages = outcome.messages.empty() ? "" : ": " + outcome.messages;
  if (WIFEXITED(outcome.wait_status))
    return concat(source.program, " ended with exit code ", WEXITSTATUS(outcome.wait_status), messages);
  return concat(source.program, " was ended by signal ", WTERMSIG(outcome.wait_status), " (limit ", source.time_limit_s,
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
  // The program's own limit comes first, so that its message is seen; ours is for one that has none.
  const auto limit = std::chrono::seconds(source.time_limit_s) + std::chrono::seconds(1);
  Outcome outcome;
  try {
    outcome = run_program(arguments, Deadline::after(limit));
  } catch (const IoError& error) {
    throw IoError(
        concat(error.what(), " (to install it: apt install ", source.program, ")", advice(source, destination)));
  }
  if (outcome.wait_status != 0)
    throw IoError(concat("could not fetch ", source.url, ": ", describe(source, outcome), advice(source, destination)));
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
  // Named by process, so that two fetches at once do not write into one file.
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
