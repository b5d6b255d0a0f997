#include "launch/local/output_queue.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

// Small texts are joined up to this many bytes, so that a queue of millions of lines stays cheap.
constexpr std::size_t kChunkBytes = 32 * 1024;

bool is_same_file(int left, int right) {
  struct stat a {};
  struct stat b {};
  return fstat(left, &a) == 0 && fstat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

OutputQueue::OutputQueue(int out_fd, int err_fd)
    : streams_{open(out_fd), open(err_fd)},
      is_one_terminal_(streams_[0].is_terminal && streams_[1].is_terminal && is_same_file(out_fd, err_fd)) {}

// O_NONBLOCK belongs to the open file description, which the shell and other programs share, so it is set in a new one.
// A regular file needs none, and must keep its shared write position.
OutputQueue::Stream OutputQueue::open(int fd) {
  Stream stream;
  stream.fd = fd;
  stream.is_terminal = isatty(fd) != 0;
  struct stat status {};
  if (fstat(fd, &status) != 0) return stream;
  if (S_ISSOCK(status.st_mode)) stream.access = Access::kSocket;
  if (!S_ISFIFO(status.st_mode) && !stream.is_terminal) return stream;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  stream.own.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!stream.own.is_open()) return stream;  // for example, a terminal of another user (su)
  stream.fd = stream.own.get();
  stream.access = Access::kNonBlocking;
  return stream;
}

void OutputQueue::add(OutputStream stream, std::string_view text) {
  Stream& to = streams_[static_cast<std::size_t>(stream)];
  if (to.is_lost || text.empty()) return;
  if (to.missing > 0 && to.chunks.empty()) note_missing(to);
  const bool joins_last = !to.chunks.empty() && !to.chunks.back().is_note &&
                          to.chunks.back().number + 1 == next_number_ &&
                          to.chunks.back().text.size() + text.size() <= kChunkBytes;
  if (joins_last)
    to.chunks.back().text.append(text);
  else
    to.chunks.push_back({next_number_++, std::string(text)});
  to.waiting += text.size();
  if (to.is_terminal && to.waiting > kMostBytes) drop_oldest(to);
}

// Drops half of the queue at once, so that not every lost line gets its own note.
void OutputQueue::drop_oldest(Stream& stream) {
  const auto first = stream.chunks.begin() + (stream.chunks.front().written > 0 ? 1 : 0);
  std::size_t dropped = 0;
  auto last = first;
  for (; last != stream.chunks.end() && dropped < kMostBytes / 2; ++last) dropped += last->text.size();
  if (first == last) return;
  Chunk note{first->number, concat("\n[", dropped, " bytes of output are missing here: the terminal took none]\n")};
  stream.waiting += note.text.size();
  stream.waiting -= dropped;
  stream.chunks.insert(stream.chunks.erase(first, last), std::move(note));
}

void OutputQueue::note_missing(Stream& stream) {
  stream.chunks.push_back(
      {.number = next_number_++,
       .text = concat("\n[", stream.missing, " bytes of output are missing here: ", strerror(stream.error), "]\n"),
       .is_note = true});
  stream.waiting += stream.chunks.back().text.size();
}

// Only a broken pipe or connection means that the reader has gone. Other errors may pass: when a disk has space again,
// later text is written.
void OutputQueue::take_failure(Stream& stream, int error) {
  stream.is_lost = error == EPIPE || error == ECONNRESET;
  if (!stream.is_lost) stream.error = error;
  for (const Chunk& chunk : stream.chunks) stream.missing += chunk.is_note ? 0 : chunk.text.size() - chunk.written;
  stream.chunks.clear();
  stream.waiting = 0;
}

std::optional<std::string> OutputQueue::take_problem() {
  for (Stream& stream : streams_) {
    if (stream.error == 0 || std::exchange(stream.is_told, true)) continue;
    return concat(&stream == streams_.data() ? "standard output" : "standard error", " cannot be written (",
                  strerror(stream.error), "): the job goes on, and its output is lost until there is space again");
  }
  return std::nullopt;
}

void OutputQueue::flush() {
  std::array<bool, 2> is_blocked{};
  while (true) {
    std::size_t next = streams_.size();
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      if (is_blocked[s] || streams_[s].chunks.empty()) continue;
      if (next == streams_.size() || streams_[s].chunks.front().number < streams_[next].chunks.front().number) next = s;
    }
    if (next == streams_.size()) return;
    Stream& stream = streams_[next];
    Chunk& chunk = stream.chunks.front();
    const long bytes = write_some(stream, std::string_view(chunk.text).substr(chunk.written));
    if (bytes >= 0) {
      chunk.written += static_cast<std::size_t>(bytes);
      stream.waiting -= static_cast<std::size_t>(bytes);
      if (chunk.written < chunk.text.size()) continue;
      if (chunk.is_note) stream.missing = 0;
      stream.chunks.pop_front();
    } else if (errno == EAGAIN) {
      is_blocked[next] = true;
      if (is_one_terminal_) return;  // later text must not overtake it
    } else if (errno != EINTR) {
      take_failure(stream, errno);
    }
  }
}

// As write(2), but with EAGAIN instead of waiting.
long OutputQueue::write_some(const Stream& stream, std::string_view text) {
  if (stream.access == Access::kNonBlocking) return ::write(stream.fd, text.data(), text.size());
  if (stream.access == Access::kSocket) {
    return ::send(stream.fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  pollfd watched{stream.fd, POLLOUT, 0};
  if (poll(&watched, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  // A writable pipe takes PIPE_BUF bytes without blocking, but more may block.
  return ::write(stream.fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

bool OutputQueue::is_empty() const noexcept { return streams_[0].chunks.empty() && streams_[1].chunks.empty(); }

bool OutputQueue::is_full(OutputStream stream) const noexcept {
  return !at(stream).is_terminal && at(stream).waiting > kMostBytes;
}

int OutputQueue::waiting_fd(OutputStream stream) const noexcept {
  return at(stream).chunks.empty() ? -1 : at(stream).fd;
}

}  // namespace lockstep::launch
