#pragma once
/// @file
/// Output that its reader may take its time with.
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

/// What waits to be written to standard output and standard error. Nothing here blocks: a reader that does not read (a
/// terminal after Ctrl-S, a pager) makes the queue grow, and holds up neither the launcher nor the ranks.
///
/// The two streams are written in the order of add(). Where one reader is stuck, the other gets on without it, unless
/// both are the same terminal.
///
/// What cannot be written though its reader is there (a full disk, a quota) is thrown away, and a line in its place
/// says how much is missing once something can be written again. Thread safety: one thread at a time.
class OutputQueue {
 public:
  /// Bytes that wait per stream. What a terminal does not take beyond that is dropped, oldest first, and a line says
  /// so; for another reader is_full() becomes true, because a program that reads the output wants all of it.
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  /// @param out_fd  Where standard output goes, @param err_fd  and standard error. Both stay the caller's.
  OutputQueue(int out_fd, int err_fd);

  /// Takes text to write, whole lines as a rule: what is dropped is dropped by calls.
  void add(OutputStream stream, std::string_view text);

  /// Writes what can be written without waiting.
  void flush();

  /// Whether nothing waits.
  [[nodiscard]] bool is_empty() const noexcept;
  /// Whether no more should be added before the reader has read.
  [[nodiscard]] bool is_full(OutputStream stream) const noexcept;
  /// Whether the reader has gone (a closed pipe). Its text is thrown away.
  [[nodiscard]] bool is_lost(OutputStream stream) const noexcept { return at(stream).is_lost; }
  /// The first thing of each stream that could not be written for another reason, for people; each only once.
  [[nodiscard]] std::optional<std::string> take_problem();
  /// A descriptor that poll() reports as writable when flush() can go on; -1 where nothing waits.
  [[nodiscard]] int waiting_fd(OutputStream stream) const noexcept;

 private:
  struct Chunk {
    std::uint64_t number = 0;  // in the order of add() over both streams
    std::string text;
    std::size_t written = 0;
    bool is_note = false;  // of this class, about what is missing
  };
  enum class Access { kNonBlocking, kSocket, kBlocking };
  struct Stream {
    int fd = -1;   // to write to: the caller's, or `own`
    UniqueFd own;  // a description of the same file, in which O_NONBLOCK is nobody else's business
    Access access = Access::kBlocking;
    bool is_terminal = false;
    bool is_lost = false;
    std::deque<Chunk> chunks;
    std::size_t waiting = 0;  // bytes
    std::size_t missing = 0;  // bytes that could not be written, and that no note has told of yet
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
