#pragma once
/// @file
/// Makes one readable output of what many ranks write at once.
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launch {

/// Which of a rank's two streams.
enum class OutputStream { kOut = 0, kErr = 1 };

/// How the lines of the ranks appear.
enum class OutputStyle {
  kPrefixed,    ///< "[rank 2] " before each line.
  kPlain,       ///< Whole lines, no prefix: for programs that read them.
  kFirstPlain,  ///< No prefix for rank 0, which speaks for the job.
  kFirstLive,   ///< As kFirstPlain, and rank 0's standard output at once, also half a line: a progress line keeps
                ///< moving.
};

/// Collects bytes per rank and stream, and passes whole lines on, with the rank's prefix or without; half a line is
/// held until it is complete. Streams stay apart. Single-threaded.
class OutputMerger {
 public:
  /// Called with text to write; lines of different ranks never mix within one call.
  using Sink = std::function<void(OutputStream, std::string_view)>;

  /// Lines kept per rank for last_lines().
  static constexpr std::size_t kKeptLines = 10;
  /// Half a line is passed on when it gets this long, up to the end of a character.
  static constexpr std::size_t kLongestLine = 64 * 1024;

  /// @param world_size  Ranks. @param style  How rank 0 is shown. @param sink  Takes finished text.
  /// @param first_rank  Added to a rank's number in its prefix; all calls count from 0.
  OutputMerger(int world_size, OutputStyle style, Sink sink, int first_rank = 0);

  /// From now on this stream of the rank is not passed on; last_lines() still has its lines.
  void hide(int rank, OutputStream stream);

  /// Takes bytes that `rank` wrote.
  void add(int rank, OutputStream stream, std::string_view bytes);

  /// The rank will write no more to this stream: passes on a last line that lacks its end.
  void close(int rank, OutputStream stream);

  /// Writes a line of the launcher's own to standard error, between the lines of the ranks.
  void announce(const std::string& line);

  /// The last lines of both streams of a rank, oldest first.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const;

 private:
  struct Rank {
    std::string held[2];  // per stream: half a line
    bool is_hidden[2] = {};
    std::deque<std::string> kept;
  };

  [[nodiscard]] bool is_live(int rank, OutputStream stream) const;
  void pass_on(int rank, OutputStream stream, std::string_view line);
  void pass_on_live(std::string_view bytes);
  void keep(Rank& rank, std::string_view line);
  void write_between(OutputStream stream, const std::string& text);

  std::vector<Rank> ranks_;
  OutputStyle style_;
  Sink sink_;
  int first_rank_;
  std::string live_;  // what rank 0 shows on the terminal's current line
};

}  // namespace lockstep::launch
