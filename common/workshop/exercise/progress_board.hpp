#pragma once
/// @file
/// What each rank of a judged program is doing, in memory that the judge sees too: a rank that waits cannot be asked.
#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::exercise {

/// The most ranks that are judged together.
inline constexpr int kMostRanks = 16;

/// What a rank is doing.
enum class RankState : std::uint32_t {
  kStarting,    ///< Not yet in the learner's code.
  kComputing,   ///< In the learner's code, in no call of the given interfaces.
  kSending,     ///< In Link::send().
  kReceiving,   ///< In Link::receive().
  kExchanging,  ///< In Link::exchange(), both ways at once.
  kCollective,  ///< In a collective of a process group.
  kFinished     ///< Has answered.
};

/// One rank's entry. Written by that rank, read by the judge; every field is a plain atomic, because the reader may
/// look at any time. `moves` is written last.
struct RankProgress {
  std::atomic<std::uint64_t> moves;          ///< Grows with every byte sent or received and every call entered.
  std::atomic<RankState> state;              ///< What it is doing.
  std::atomic<std::int32_t> peer;            ///< Whom it waits for; -1: all.
  std::atomic<std::int32_t> line;            ///< Of the call, in `file`.
  std::atomic<std::uint64_t> bytes;          ///< That the call is to move.
  std::atomic<std::uint64_t> bytes_done;     ///< That it has moved.
  std::atomic<std::uint64_t> call;           ///< How many calls this rank has entered.
  std::atomic<std::uint64_t> bytes_sent;     ///< In all calls.
  std::atomic<std::uint64_t> messages_sent;  ///< Calls that sent.
  char file[128];                            ///< Name of the call's source file, without folders.
  char operation[32];                        ///< Name of a collective.
};

/// The entries of all ranks, in an anonymous shared file.
class ProgressBoard {
 public:
  /// A new board, all ranks starting. @throws IoError  No memory.
  static ProgressBoard create();
  /// The board behind a descriptor that another process has made; takes the descriptor. @throws IoError  It is none.
  static ProgressBoard open(int fd);

  /// For passing to a process.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// Of one rank. @pre  0 <= rank < kMostRanks.
  [[nodiscard]] RankProgress& of(int rank) const;

 private:
  explicit ProgressBoard(UniqueFd fd);

  UniqueFd fd_;
  std::shared_ptr<RankProgress> entries_;
};

/// Enters a call on the board, and leaves it at the end of its scope.
class ProgressEntry {
 public:
  /// @param progress  This rank's entry; null: nobody looks. @param state  Of the call. @param peer  Or -1.
  /// @param bytes  That the call is to move. @param where  The call in the learner's code.
  ProgressEntry(RankProgress* progress, RankState state, int peer, std::uint64_t bytes,
                const std::source_location& where, const std::string& operation = {});
  ~ProgressEntry();
  ProgressEntry(const ProgressEntry&) = delete;
  ProgressEntry& operator=(const ProgressEntry&) = delete;

  /// So many more bytes have been moved.
  void advance(std::uint64_t bytes, bool is_sent);

 private:
  RankProgress* progress_;
};

}  // namespace lockstep::exercise
