#include "exercise/progress_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kBoardBytes = kMostRanks * sizeof(RankProgress);

void copy_text(std::span<char> target, std::string_view text) {
  target[text.copy(target.data(), target.size() - 1)] = '\0';
}

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

ProgressBoard ProgressBoard::create() {
  UniqueFd fd(::memfd_create("lockstep_progress", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open() || ::ftruncate(fd.get(), kBoardBytes) != 0) throw IoError("cannot make a progress board", errno);
  // If a rank could shrink the file, the judge would die of SIGBUS.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw IoError("cannot seal a progress board", errno);
  return ProgressBoard(std::move(fd));
}

ProgressBoard ProgressBoard::open(int fd) {
  UniqueFd owned(fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw IoError("there is no progress board", errno);
  if (static_cast<std::size_t>(status.st_size) != kBoardBytes) throw IoError("this is not a progress board", 0);
  return ProgressBoard(std::move(owned));
}

ProgressBoard::ProgressBoard(UniqueFd fd) : fd_(std::move(fd)) {
  void* const memory = ::mmap(nullptr, kBoardBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) throw IoError("cannot map a progress board", errno);
  entries_ = {static_cast<RankProgress*>(memory), [](RankProgress* entries) { ::munmap(entries, kBoardBytes); }};
}

RankProgress& ProgressBoard::of(int rank) const {
  require(rank >= 0 && rank < kMostRanks, "exercise: there is no rank ", rank, " on a progress board");
  return entries_.get()[rank];
}

ProgressEntry::ProgressEntry(RankProgress* progress, RankState state, int peer, std::uint64_t bytes,
                             const std::source_location& where, const std::string& operation)
    : progress_(progress) {
  if (progress_ == nullptr) return;
  copy_text(progress_->file, file_name(where.file_name()));
  copy_text(progress_->operation, operation);
  progress_->line = static_cast<std::int32_t>(where.line());
  progress_->peer = peer;
  progress_->bytes = bytes;
  progress_->bytes_done = 0;
  ++progress_->call;
  if (state == RankState::kSending || state == RankState::kExchanging) ++progress_->messages_sent;
  progress_->state = state;
  ++progress_->moves;
}

ProgressEntry::~ProgressEntry() {
  if (progress_ == nullptr) return;
  progress_->state = RankState::kComputing;
  ++progress_->moves;
}

void ProgressEntry::advance(std::uint64_t bytes, bool is_sent) {
  if (progress_ == nullptr || bytes == 0) return;
  progress_->bytes_done += bytes;
  if (is_sent) progress_->bytes_sent += bytes;
  ++progress_->moves;
}

}  // namespace lockstep::exercise
