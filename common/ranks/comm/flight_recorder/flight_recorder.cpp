#include "comm/flight_recorder/flight_recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <source_location>
#include <string_view>

#include "base/error.hpp"
#include "base/timing.hpp"
#include "base/unique_fd.hpp"
#include "comm/flight_recorder/flight_file.hpp"

namespace lockstep::comm {
namespace {

// A path relative to the project's root, independent of the build folder; paths of other projects are unchanged.
std::string_view within_project(std::string_view path) {
  constexpr std::string_view kOwnPath = "common/ranks/comm/flight_recorder/flight_recorder.cpp";
  std::string_view root = std::source_location::current().file_name();
  root.remove_suffix(std::min(root.size(), kOwnPath.size()));
  return path.starts_with(root) ? path.substr(root.size()) : path;
}

// The end of `path`, at most `count` characters; only whole names if one fits.
std::string_view end_of(std::string_view path, std::size_t count) {
  if (path.size() <= count) return path;
  const std::size_t cut = path.size() - count;
  const std::size_t slash = path.find('/', cut - 1);  // a name may begin right at the cut
  return path.substr(slash == std::string_view::npos ? cut : slash + 1);
}

// A new file even if one exists, because a reader may have the old one open. Another process that has this rank by
// mistake may create one at the same time; that is no reason to fail here, because joining the job detects it.
UniqueFd make_file(const std::string& path) {
  constexpr int kMostTries = 100;
  UniqueFd fd;
  for (int attempt = 0; attempt < kMostTries && !fd.is_open(); ++attempt) {
    ::unlink(path.c_str());
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.is_open() && errno != EEXIST) break;
  }
  if (!fd.is_open()) throw IoError(concat("making ", path), errno);
  return fd;
}

}  // namespace

FlightRecorder::FlightRecorder(const std::string& folder, int rank, int world_size, int generation) {
  const std::string path = flight_record_path(folder, rank);
  const UniqueFd fd = make_file(path);
  // Reserved, not only sized: writing to a hole on a full disk would end the rank with SIGBUS.
  if (const int error = ::posix_fallocate(fd.get(), 0, sizeof(File)); error != 0) {
    ::unlink(path.c_str());  // readers would take it for a damaged one
    throw IoError(concat("sizing ", path), error);
  }
  void* mapped = ::mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) throw IoError(concat("mapping ", path), errno);
  file_ = static_cast<File*>(mapped);
  file_->rank = rank;
  file_->world_size = world_size;
  file_->generation = generation;
  file_->process_id = ::getpid();
  file_->magic = kFlightMagic;
}

FlightRecorder::~FlightRecorder() { ::munmap(file_, sizeof(File)); }

std::uint64_t FlightRecorder::add(int group, const Fingerprint& fingerprint,
                                  const std::source_location& where) noexcept {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t entry = file_->entry_count;
  FlightSlot& slot = file_->slots[entry % kCapacity];
  slot = {};
  slot.group = group;
  slot.sequence = fingerprint.sequence;
  slot.tag = to_tag(fingerprint);
  std::ranges::copy(fingerprint.tag.text(), slot.call_tag.begin());
  slot.line = where.line();
  slot.issued_ns = steady_now_ns();
  // Room for the terminating zero.
  std::ranges::copy(end_of(within_project(where.file_name()), slot.file.size() - 1), slot.file.begin());
  file_->entry_count = entry + 1;
  return entry;
}

void FlightRecorder::update(std::uint64_t entry, FlightState state) noexcept {
  const std::scoped_lock lock(mutex_);
  if (entry + kCapacity < file_->entry_count) return;  // its slot has been reused
  FlightSlot& slot = file_->slots[entry % kCapacity];
  slot.state = static_cast<std::uint8_t>(state);
  (state == FlightState::kRunning ? slot.started_ns : slot.ended_ns) = steady_now_ns();
}

void FlightRecorder::note_group(int group, const std::vector<int>& ranks) noexcept {
  const std::scoped_lock lock(mutex_);
  FlightGroups& groups = file_->groups;
  if (groups.numbers.size() - groups.used < ranks.size() + 2) return;
  const auto begin = groups.numbers.begin() + groups.used;
  begin[0] = group;
  begin[1] = static_cast<std::int32_t>(ranks.size());
  std::ranges::copy(ranks, begin + 2);
  groups.used += static_cast<std::uint32_t>(ranks.size()) + 2;
}

void FlightRecorder::note_failure(int culprit, std::string_view message) noexcept {
  const std::scoped_lock lock(mutex_);
  if (file_->has_failure != 0) return;
  message = message.substr(0, file_->failure.size() - 1);  // room for the terminating zero
  std::ranges::copy(message, file_->failure.begin());
  file_->culprit = culprit;
  file_->failure_ns = steady_now_ns();
  file_->has_failure = 1;
}

FlightRecord FlightRecorder::record() const {
  const std::scoped_lock lock(mutex_);
  return to_record(*file_);
}

std::string flight_record_path(const std::string& folder, int rank) { return concat(folder, "/rank", rank, ".flight"); }

}  // namespace lockstep::comm
