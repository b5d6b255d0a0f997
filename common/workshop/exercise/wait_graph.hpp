#pragma once
/// @file
/// Who waits for whom, said as a person would.
#include <cstdint>
#include <string>
#include <vector>

#include "exercise/progress_board.hpp"

namespace lockstep::exercise {

/// A rank's entry on the board at one moment. A value type.
struct RankSnapshot {
  int rank = 0;                            ///< Whose.
  RankState state = RankState::kStarting;  ///< The rest as in RankProgress.
  int peer = -1;                           ///< Whom it waits for.
  int line = 0;                            ///< Of the call.
  std::uint64_t bytes = 0;                 ///< To move.
  std::uint64_t bytes_done = 0;            ///< Moved.
  std::uint64_t call = 0;                  ///< Number of the call.
  std::string file = {};                   ///< Of the call.
  std::string operation = {};              ///< Name of a collective.
};

/// All ranks' entries.
[[nodiscard]] std::vector<RankSnapshot> snapshot(const ProgressBoard& board, int world_size);

/// What a hang came to.
struct WaitReport {
  std::string summary;             ///< The cycle, or the call on which ranks disagree.
  std::vector<std::string> ranks;  ///< A line per rank: what it waits for, and where.
  std::string advice;              ///< What usually helps.
  std::string fingerprint;         ///< Equal for equal graphs: rank, state and peer of each.
};

/// Finds the cycle in the graph. @param ranks  Of a group in which nothing moves.
[[nodiscard]] WaitReport explain_waits(const std::vector<RankSnapshot>& ranks);

/// What to look at when a rank has thrown, because the rank at the other end of a connection had returned or because
/// there is none; empty for other exceptions.
/// @param rank  Its entry on the board: the call that has thrown. @param what  The exception's words.
[[nodiscard]] std::string advice_on_exception(const RankSnapshot& rank, const std::string& what);

}  // namespace lockstep::exercise
