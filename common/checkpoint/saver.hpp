#pragma once
/// @file
/// Saving while the training goes on.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

/// Who writes a checkpoint: the caller, or a thread that the caller does not wait for.
enum class SaveMode { kBlocking, kBackground };

/// Saves the checkpoints of one run, in the background if wished: save() then returns when the tensors are copied to
/// host memory, and a thread writes, fsyncs, verifies and renames. What is on disk is the same either way.
///
/// One save at a time: a save that finds the one before still running waits for it, because skipping would leave a
/// longer gap than the caller asked for. The copy stays allocated for the next save: in the background, saving takes as
/// much host memory as the saved tensors again (12 bytes per parameter for AdamW), on the one rank that saves.
///
/// An error of the thread comes out of the next save() or of finish(). Order of calls: prepare (may be left out),
/// save..., finish. Thread safety: one thread at a time.
class Saver {
 public:
  /// @param root     Made on the first save.
  /// @param options  As CheckpointFolder's; on_save_step is called from the thread.
  Saver(std::filesystem::path root, FolderOptions options, SaveMode mode)
      : folder_(std::move(root), std::move(options)), mode_(mode) {}
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  /// Waits for a running save. An error that nobody has asked for is logged.
  ~Saver();

  /// Makes room for the copies in the thread, so that not even the first save waits for the system to find memory.
  /// @param contents  What will be saved. Without effect for kBlocking.
  void prepare(const Contents& contents);

  /// Saves as CheckpointFolder::save(). The tensors may change as soon as it has returned.
  /// @throws IoError, FormatError  This save failed (kBlocking), or the one before (kBackground: names its step; this
  ///                               one has not begun).
  /// @cost  kBackground: waits for the save before, then one pass over the tensors.
  void save(std::int64_t step, const Contents& contents, nlohmann::json state);

  /// Waits until the last save is on disk, then removes what an earlier, killed writer has left.
  /// @throws IoError  The save failed (names its step), or something cannot be removed.
  void finish();

 private:
  void wait();
  static void make_room(const std::vector<NamedTensor>& from, std::vector<NamedTensor>& to);

  CheckpointFolder folder_;
  SaveMode mode_;
  Contents copies_;           // the thread reads them, so they change only while none runs
  std::int64_t step_ = 0;     // of the save that `writer_` does
  std::exception_ptr error_;  // set by `writer_`, read after it has been joined
  std::thread writer_;
};

}  // namespace lockstep::checkpoint
