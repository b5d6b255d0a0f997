#pragma once
/// @file
/// Saving while the training goes on.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
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
/// An error of the thread comes out of the next save() or of finish(). A disk that does not answer is such an error
/// after kLongestWait: the thread is left to itself, with the copy that it reads, and never renames what it writes.
/// Order of calls: prepare (may be left out), save..., finish. Thread safety: one thread at a time.
class Saver {
 public:
  /// How long a save in the background is waited for. The other ranks of a job give up much sooner on one that waits.
  static constexpr std::chrono::minutes kLongestWait{15};

  /// @param root          Made on the first save.
  /// @param options       As CheckpointFolder's; on_save_step is called from the thread.
  /// @param longest_wait  For a save in the background.
  Saver(std::filesystem::path root, FolderOptions options, SaveMode mode,
        std::chrono::milliseconds longest_wait = kLongestWait);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  /// Waits for a running save, but not longer than `longest_wait`. An error that nobody has asked for is logged.
  ~Saver();

  /// Makes room for the copies in the thread, so that not even the first save waits for the system to find memory.
  /// @param contents  What will be saved. Without effect for kBlocking.
  void prepare(const Contents& contents);

  /// Saves as CheckpointFolder::save(). The tensors may change as soon as it has returned.
  /// @throws IoError, FormatError  This save failed (kBlocking), or the one before (kBackground: names its step; this
  ///                               one has not begun).
  /// @throws TimeoutError          The one before is not on disk after `longest_wait` of waiting; names its step.
  /// @cost  kBackground: waits for the save before, then one pass over the tensors.
  void save(std::int64_t step, const Contents& contents, nlohmann::json state);

  /// Waits until the last save is on disk, then removes what an earlier, killed writer has left.
  /// @throws IoError       The save failed (names its step), or something cannot be removed.
  /// @throws TimeoutError  It is not on disk after `longest_wait` of waiting.
  void finish();

 private:
  /// What the thread uses. It outlives the Saver where the thread does.
  struct Background {
    explicit Background(const std::filesystem::path& root, const FolderOptions& options);
    std::atomic<bool> is_abandoned = false;
    CheckpointFolder folder;
    Contents copies;  // the thread reads them, so they change only while none runs
  };

  void run_in_background(std::function<void(Background&)> work);
  void make_copies_fit(const Contents& contents);
  void wait();

  std::filesystem::path root_;
  FolderOptions options_;
  SaveMode mode_;
  std::chrono::milliseconds longest_wait_;
  std::shared_ptr<Background> background_;
  std::int64_t step_ = 0;      // of the save that runs
  std::future<void> running_;  // what `writer_` does
  std::thread writer_;
};

}  // namespace lockstep::checkpoint
