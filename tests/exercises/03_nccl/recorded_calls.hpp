#pragma once
/// @file
/// Which functions of CUDA and NCCL a learner's code has called: those that recorded_calls.cpp lists. The linker sends
/// the program's calls of them there first (--wrap), and they go on to the library.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exercise/progress_board.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// One call.
struct RecordedCall {
  std::string name;              ///< "ncclAllReduce"
  const void* stream = nullptr;  ///< Its stream, if it has one.
  const void* object = nullptr;  ///< The event, or the memory that is sent or received.
  std::size_t bytes = 0;         ///< That ncclSend() or ncclRecv() is to move.
  int peer = -1;                 ///< To or from whom; of a call that joins a communicator: as which rank.
};

/// Records this thread's calls while it lives, not those that CUDA and NCCL make themselves. Calls that may wait are
/// shown on the progress board.
class CallRecorder {
 public:
  /// @param progress  This rank's entry; outlives the recorder. @pre  The thread has no other recorder.
  explicit CallRecorder(RankProgress& progress);
  ~CallRecorder();
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  /// In order.
  [[nodiscard]] const std::vector<RecordedCall>& calls() const noexcept { return calls_; }
  /// For what else happens in that order.
  void add(RecordedCall call) { calls_.push_back(std::move(call)); }
  /// Tells the judge how often each function was called, as "ncclCommDestroy": 1, and their order, as
  /// "calls": "ncclCommDestroy ...".
  void report(Answer& answer) const;

 private:
  friend class RecordedScope;

  RankProgress& progress_;
  std::vector<RecordedCall> calls_;
  std::uint64_t waiting_calls_ = 0;
  bool is_inside_ = false;
};

}  // namespace lockstep::exercise
