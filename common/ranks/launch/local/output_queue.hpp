#pragma once
/// @file
/// Queued output for readers that may be slow.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"
#include "launch/local/output_merger.hpp"

namespace lockstep::launch {

/// Text to be written to standard output and standard error. No call blocks: a reader that does not read (a terminal
/// after Ctrl-S, a pager) makes the queue grow, but delays neither the launcher nor the ranks.
///
/// The two streams are written in the order of add(). If one reader is stuck, the other stream continues, unless both
/// are the same terminal.
///
/// Text that cannot be written for another reason (a full disk, a quota) is dropped, and a line in its place says how
/// much is missing once writing works again. Thread safety: one thread at a time.
class OutputQueue {
 public:
  /// Limit on queued bytes per stream. Beyond it, text for a terminal is dropped, oldest first, with a line that says
  /// so; for other readers is_full() becomes true, because a program that reads the output needs all of it.
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  /// @param out_fd  For standard output. @param err_fd  For standard error. The caller keeps ownership of both.
  OutputQueue(int out_fd, int err_fd);

  /// Takes text to write, usually whole lines: text is dropped in units of calls.
  void add(OutputStream stream, std::string_view text);

  /// Writes as much as possible without waiting.
  void flush();

  /// Whether nothing is queued.
  [[nodiscard]] bool is_empty() const noexcept;
  /// Whether to add nothing until the reader has read.
  [[nodiscard]] bool is_full(OutputStream stream) const noexcept;
  /// Whether the reader has gone (a closed pipe). Its text is dropped.
  [[nodiscard]] bool is_lost(OutputStream stream) const noexcept { return at(stream).is_lost; }
  /// The first write error of each stream for any other reason, for people; each only once.
  [[nodiscard]] std::optional<std::string> take_problem();
  /// A descriptor that is writable when flush() can continue; -1 if nothing is queued.
  [[nodiscard]] int waiting_fd(OutputStream stream) const noexcept;

 private:
  struct Chunk {
    std::uint64_t number = 0;  // in the order of add() over both streams
    std::string text;
    std::size_t written = 0;
    bool is_note = false;  // this class's own line about missing text
  };
  enum class Access { kNonBlocking, kSocket, kBlocking };
  struct Stream {
    int fd = -1;   // to write to: the caller's, or `own`
    UniqueFd own;  // a separate description of the same file, so that O_NONBLOCK affects nobody else
    Access access = Access::kBlocking;
    bool is_terminal = false;
    bool is_lost = false;
    std::deque<Chunk> chunks;
    std::size_t waiting = 0;  // bytes
    std::size_t missing = 0;  // bytes that could not be written and are not in a note yet
    int error = 0;            // of the last of them; 0: none
    bool is_told = false;     // by take_problem()
  };

  [[nodiscard]] const Stream& at(OutputStream stream) const { return streams_[static_cast<std::size_t>(stream)]; }
  static Stream open(int fd);
  static long write_some(const Stream& stream, std::string_view text);
  void drop_oldest(Stream& stream);
  void note_missing(Stream& stream);
  static void take_failure(Stream& stream, int error);

  std::array<Stream, 2> streams_;
  bool is_one_terminal_ = false;
  std::uint64_t next_number_ = 0;
};

}  // namespace lockstep::launch
