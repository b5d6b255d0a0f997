#pragma once
/// @file
/// Explains in plain words which rank waits for which.
#include <cstdint>
#include <string>
#include <vector>

#include "exercise/progress_board.hpp"

namespace lockstep::exercise {

/// A rank's entry on the board at one moment. A value type.
struct RankSnapshot {
  int rank = 0;
  RankState state = RankState::kStarting;  ///< This and the rest: see RankProgress.
  int peer = -1;
  int line = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t call = 0;
  std::string file = {};
  std::string operation = {};
};

[[nodiscard]] std::vector<RankSnapshot> snapshot(const ProgressBoard& board, int world_size);

/// The explanation of a hang.
struct WaitReport {
  std::string summary;             ///< The cycle, or the call on which ranks disagree.
  std::vector<std::string> ranks;  ///< A line per rank: its wait, with file and line.
  std::string advice;              ///< The usual remedy.
  std::string fingerprint;         ///< Equal for equal graphs: rank, state and peer of each.
};

/// Finds the cycle in the graph. @param ranks  A group in which nothing moves.
[[nodiscard]] WaitReport explain_waits(const std::vector<RankSnapshot>& ranks);

/// Advice for an exception thrown because the rank at the other end of a connection had returned or because there is no
/// such connection; empty for other exceptions.
/// @param rank  Its entry on the board: the call that has thrown. @param what  The exception's message.
[[nodiscard]] std::string advice_on_exception(const RankSnapshot& rank, const std::string& what);

}  // namespace lockstep::exercise
