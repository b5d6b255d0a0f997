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
#include <nlohmann/json_fwd.hpp>
#include <thread>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "device/read_lock.hpp"

namespace lockstep::checkpoint {

/// Who writes a checkpoint: the caller, or a thread that the caller does not wait for.
enum class SaveMode { kBlocking, kBackground };

/// Saves the checkpoints of one run, in the background if wished: a thread then writes, fsyncs, verifies and renames.
/// What is on disk is the same either way.
///
/// In the background the thread reads tensors on the host where they are, each under a ReadLock until it has handed it
/// to the system. Code that changes a tensor before then, such as the next optimizer step, waits. Forward and backward
/// only read the weights, so with a model of some size the step finds them written, and the disk itself is waited for
/// by nobody. Tensors on a device are copied to host memory by save(); these copies stay allocated for the next one.
///
/// One save at a time: a save that finds the one before still running waits for it, because skipping would leave a
/// longer gap than the caller asked for.
///
/// An error of the thread comes out of the next save() or of finish(). A disk that does not answer is such an error
/// after kLongestWait: the thread is left to itself, keeps alive what it reads, and never renames what it writes.
/// Nobody waits longer than that for a tensor either: it is then changed, and the save has failed. Order of calls:
/// prepare (may be left out), save..., finish. Thread safety: one thread at a time.
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

  /// Makes room for copies of what is on a device, in the thread, so that not even the first save waits for the system
  /// to find memory.
  /// @param contents  What will be saved. Without effect for kBlocking.
  void prepare(const Contents& contents);

  /// Saves as CheckpointFolder::save(), what the tensors hold when it is called. They may be changed as soon as it has
  /// returned: through Tensor::data() and all that uses it, which waits where it must (see above).
  /// @pre  No address that data() has returned before is used to change them.
  /// @throws IoError, FormatError  This save failed (kBlocking), or the one before (kBackground: names its step; this
  ///                               one has not begun).
  /// @throws TimeoutError          The one before is not on disk after `longest_wait` of waiting; names its step.
  /// @cost  kBackground: waits for the save before, then copies what is on a device.
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
    Contents copies;  // of what is on a device; the thread reads them, so they change only while none runs
  };
  // What one save writes: tensors on the host, and the locks on them in the order of writing.
  struct Snapshot {
    Contents contents;
    std::vector<ReadLock> locks;
  };

  void run_in_background(std::function<void(Background&)> work);
  void make_copies_fit(const Contents& contents);
  [[nodiscard]] Snapshot take_snapshot(const Contents& contents);
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
