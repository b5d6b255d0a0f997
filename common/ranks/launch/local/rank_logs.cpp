#include "launch/local/rank_logs.hpp"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

constexpr OutputStream kLoggedStreams[] = {OutputStream::kOut, OutputStream::kErr};

const char* file_name(OutputStream stream) { return stream == OutputStream::kOut ? "stdout.log" : "stderr.log"; }

}  // namespace

std::string job_name(const std::string& program) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y%m%d-%H%M%S", &parts);
  return concat(fs::path(program).filename().string(), "-", time.data(), "-", getpid());
}

void RankLogs::begin_attempt(int attempt, int first_rank, int count) {
  files_.clear();
  attempt_ = attempt;
  first_rank_ = first_rank;
  for (int local_rank = 0; local_rank < count; ++local_rank) {
    for (const OutputStream stream : kLoggedStreams) {
      if (!options_.tee.contains(local_rank, stream) && !options_.redirects.contains(local_rank, stream)) continue;
      const fs::path folder = rank_folder(local_rank);
      std::error_code error;
      fs::create_directories(folder, error);
      if (error) throw IoError(concat("--log-dir: cannot make ", folder.string()), error.value());
      const fs::path file = folder / file_name(stream);
      // A job that is restarted under the same name and attempt appends.
      UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
      if (!fd.is_open()) throw IoError(concat("--log-dir: cannot write ", file.string()), errno);
      files_.emplace(std::pair(local_rank, stream), std::move(fd));
    }
  }
}

void RankLogs::write(int local_rank, OutputStream stream, std::string_view bytes) noexcept try {
  const auto file = files_.find({local_rank, stream});
  if (file == files_.end()) return;
  write_all(file->second.get(), bytes, rank_folder(local_rank) / file_name(stream));
} catch (const std::exception& error) {
  if (!std::exchange(has_failed_, true)) Logger("lockstep").warning(concat("output of ranks is lost: ", error.what()));
}

bool RankLogs::is_shown(int local_rank, OutputStream stream) const noexcept {
  return options_.tee.contains(local_rank, stream) || !options_.redirects.contains(local_rank, stream);
}

fs::path RankLogs::attempt_folder() const { return job_folder() / concat("attempt_", attempt_); }

fs::path RankLogs::rank_folder(int local_rank) const {
  return attempt_folder() / std::to_string(first_rank_ + local_rank);
}

}  // namespace lockstep::launch
