#pragma once
/// @file
/// Each rank's current activity, in memory shared with the judge, because a blocked rank cannot be asked.
#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::exercise {

/// The most ranks in a trial.
inline constexpr int kMostRanks = 16;

enum class RankState : std::uint32_t {
  kStarting,    ///< Not yet in the learner's code.
  kComputing,   ///< In the learner's code, outside of calls to the given interfaces.
  kSending,     ///< In Link::send().
  kReceiving,   ///< In Link::receive().
  kExchanging,  ///< In Link::exchange(), in both directions at once.
  kCollective,  ///< In a collective of a process group.
  kFinished     ///< Has answered.
};

/// One rank's entry, written by that rank and read by the judge. The numbers are atomic, because the judge may read
/// them at any time. `moves` is written last.
struct RankProgress {
  std::atomic<std::uint64_t> moves;  ///< Grows when bytes move, and when a call begins or ends.
  std::atomic<RankState> state;
  std::atomic<std::int32_t> peer;            ///< The rank it waits for; -1: all.
  std::atomic<std::int32_t> line;            ///< Line of the call, in `file`.
  std::atomic<std::uint64_t> bytes;          ///< The call's total.
  std::atomic<std::uint64_t> bytes_done;     ///< The call's progress.
  std::atomic<std::uint64_t> call;           ///< Number of calls so far.
  std::atomic<std::uint64_t> bytes_sent;     ///< Over all calls.
  std::atomic<std::uint64_t> messages_sent;  ///< Calls that sent.
  char file[128];                            ///< Name of the call's source file, without folders.
  char operation[32];                        ///< Name of a collective.
};

/// The entries of all ranks, in an anonymous shared file.
class ProgressBoard {
 public:
  /// A new board with all ranks in kStarting. @throws IoError  Out of memory.
  static ProgressBoard create();
  /// Maps another process's board; takes ownership of the descriptor. @throws IoError  It is not a board.
  static ProgressBoard open(int fd);

  /// For passing to a process.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// One rank's entry. @pre  0 <= rank < kMostRanks.
  [[nodiscard]] RankProgress& of(int rank) const;

 private:
  explicit ProgressBoard(UniqueFd fd);

  UniqueFd fd_;
  std::shared_ptr<RankProgress> entries_;
};

/// Shows a call on the board for as long as this object exists.
class ProgressEntry {
 public:
  /// @param progress  This rank's entry; null: no judge is watching. @param state  Of the call. @param peer  -1: all.
  /// @param bytes  The call's total. @param where  The call in the learner's code. @param operation  The collective.
  ProgressEntry(RankProgress* progress, RankState state, int peer, std::uint64_t bytes,
                const std::source_location& where, const std::string& operation = {});
  ~ProgressEntry();
  ProgressEntry(const ProgressEntry&) = delete;
  ProgressEntry& operator=(const ProgressEntry&) = delete;

  /// Adds `bytes` to those that the call has moved; if `is_sent`, also to those that the rank has sent.
  void advance(std::uint64_t bytes, bool is_sent);

 private:
  RankProgress* progress_;
};

}  // namespace lockstep::exercise
