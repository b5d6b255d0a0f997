#include "comm/training_status.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/error.hpp"
#include "base/timing.hpp"

namespace lockstep::comm {
namespace {

constexpr std::uint64_t kMagic = 0x315355544154534C;  // "LSTATUS1"

// A reader may see half of a write: then the two numbers differ.
struct Content {
  std::uint64_t magic = kMagic;
  std::uint64_t number = 0;
  TrainingStatus status;
  std::uint64_t number_again = 0;
};

std::string path_of(const std::string& folder, int rank) { return concat(folder, "/rank", rank, ".status"); }

}  // namespace

TrainingStatusFile::TrainingStatusFile(const std::string& folder, int rank) {
  const std::string path = path_of(folder, rank);
  ::unlink(path.c_str());  // a reader of the previous generation keeps its open file
  fd_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd_.is_open()) throw IoError(concat("making ", path), errno);
}

void TrainingStatusFile::write(TrainingStatus status) noexcept {
  status.written_ns = steady_now_ns();
  Content content;
  content.number = content.number_again = ++number_;
  content.status = status;
  [[maybe_unused]] const ssize_t ignored = ::pwrite(fd_.get(), &content, sizeof(content), 0);
}

std::optional<TrainingStatus> read_training_status(const std::string& folder, int rank) {
  const std::string path = path_of(folder, rank);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  constexpr int kTrials = 10;
  for (int trial = 0; fd.is_open() && trial < kTrials; ++trial) {
    Content content;
    const ssize_t bytes = ::pread(fd.get(), &content, sizeof(content), 0);
    if (bytes == 0) return std::nullopt;  // created but not written yet
    if (bytes != sizeof(content) || content.magic != kMagic)
      throw FormatError(concat(path, " is not a training status of this version"));
    if (content.number == content.number_again) return content.status;
  }
  return std::nullopt;
}

}  // namespace lockstep::comm
