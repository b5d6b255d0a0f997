#pragma once
/// @file
/// Merges the output of many ranks into one readable stream.
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::launch {

/// One of a rank's two streams.
enum class OutputStream { kOut = 0, kErr = 1 };

/// How to show the lines of the ranks.
enum class OutputStyle {
  kPrefixed,    ///< "[rank 2] " before each line.
  kPlain,       ///< Whole lines, no prefix: for programs that read them.
  kFirstPlain,  ///< No prefix for rank 0, which speaks for the job.
  kFirstLive,   ///< As kFirstPlain, but rank 0's standard output appears at once, even incomplete lines, for progress
                ///< displays.
};

/// Collects bytes per rank and stream, and forwards whole lines, with or without the rank's prefix; an incomplete line
/// is held back. Streams are kept separate. Single-threaded.
class OutputMerger {
 public:
  /// Called with text to write; lines of different ranks never mix within one call.
  using Sink = std::function<void(OutputStream, std::string_view)>;

  /// Lines kept per rank for last_lines().
  static constexpr std::size_t kKeptLines = 10;
  /// An incomplete line is forwarded when it gets this long, cut after a whole character.
  static constexpr std::size_t kLongestLine = 64 * 1024;

  /// @param world_size  Ranks. @param style  How rank 0 is shown. @param sink  Gets the text to write.
  /// @param first_rank  Added to a rank's number in its prefix; all calls count from 0.
  OutputMerger(int world_size, OutputStyle style, Sink sink, int first_rank = 0);

  /// From now on, lines that rank 0 does not show live, and those of the launcher, pass through `wrap` before they are
  /// written.
  void wrap(std::function<std::string(OutputStream, std::string_view line)> wrap) { wrap_ = std::move(wrap); }

  /// Stops forwarding this stream of the rank; last_lines() still includes it.
  void hide(int rank, OutputStream stream);

  /// Takes bytes that `rank` wrote.
  void add(int rank, OutputStream stream, std::string_view bytes);

  /// The rank will write no more to this stream: forwards a last line without line end.
  void close(int rank, OutputStream stream);

  /// Writes a line of the launcher to standard error, between lines of the ranks.
  void announce(const std::string& line);

  /// The last lines of both streams of a rank, oldest first.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const;

 private:
  struct Rank {
    std::string held[2];  // per stream: an incomplete line
    bool is_hidden[2] = {};
    std::deque<std::string> kept;
  };

  [[nodiscard]] bool is_live(int rank, OutputStream stream) const;
  void pass_on(int rank, OutputStream stream, std::string_view line);
  void pass_on_live(std::string_view bytes);
  [[nodiscard]] std::string wrapped(OutputStream stream, const std::string& line) const;
  void keep(Rank& rank, std::string_view line);
  void write_between(OutputStream stream, const std::string& text);

  std::vector<Rank> ranks_;
  OutputStyle style_;
  Sink sink_;
  int first_rank_;
  std::function<std::string(OutputStream, std::string_view)> wrap_;  // may be empty
  std::string live_;                                                 // rank 0's text on the terminal's current line
  bool is_at_begin_ = false;  // its cursor: the next character overwrites the line
};

}  // namespace lockstep::launch
