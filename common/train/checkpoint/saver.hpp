#pragma once
/// @file
/// Saving checkpoints while training goes on.
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

/// Who writes a checkpoint: the caller, or a background thread.
enum class SaveMode { kBlocking, kBackground };

/// Saves the checkpoints of one run, in the background if requested: then a thread writes, fsyncs, verifies and
/// renames. The files are the same either way.
///
/// In the background, the thread reads tensors on the host in place, each under a ReadLock until the system has its
/// bytes. Code that changes a tensor before then, such as the next optimizer step, waits. Forward and backward only
/// read the weights, so with a model of some size the bytes are written before the step, and nothing waits for the disk
/// itself. save() copies tensors on a device to host memory; these copies stay allocated for the next save.
///
/// One save at a time: if the previous save is still running, a save waits for it, because skipping would leave a
/// longer gap than the caller asked for.
///
/// An error of the thread is thrown by the next save() or by finish(). A disk that does not answer counts as an error
/// after kLongestWait: the thread is then abandoned, keeps its tensors alive, never renames its folder, and removes no
/// later one of the same name. Changes of a tensor wait no longer than that either: then they go ahead, and the save
/// has failed. Order of calls: prepare (optional), save..., finish. Thread safety: one thread at a time.
class Saver {
 public:
  /// Limit on waiting for a background save. The other ranks of a job give up much sooner on a rank that waits.
  static constexpr std::chrono::minutes kLongestWait{15};

  /// @param root          Made on the first save.
  /// @param options       As CheckpointFolder's; on_save_step is called from the thread.
  /// @param longest_wait  For a background save.
  Saver(std::filesystem::path root, FolderOptions options, SaveMode mode,
        std::chrono::milliseconds longest_wait = kLongestWait);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  /// Waits for a running save, at most `longest_wait`. Logs an error that was not thrown yet.
  ~Saver();

  /// Allocates, in the thread, host copies of the tensors on a device, so that not even the first save waits for
  /// memory.
  /// @param contents  As for save(). Does nothing with kBlocking.
  void prepare(const Contents& contents);

  /// Saves the tensors' present values, like CheckpointFolder::save(). They may be changed as soon as it has returned,
  /// through Tensor::data() and its callers, which wait if they must (see above).
  /// @pre  Addresses that data() returned earlier are not used to change them.
  /// @throws IoError, FormatError  This save failed (kBlocking), or the previous one did (kBackground: names its step;
  ///                               this save has not begun).
  /// @throws TimeoutError          The previous save is not on disk after `longest_wait`; names its step.
  /// @cost  kBackground: waits for the previous save, then copies tensors that are on a device.
  void save(std::int64_t step, const Contents& contents, nlohmann::json state);
  /// The same for tensors whose elements come while they are written: the callbacks of `contents` are called here, and
  /// in the background the thread only waits for the disk. @throws  As above, and what a callback throws.
  void save(std::int64_t step, const StreamedContents& contents, const nlohmann::json& state);

  /// Waits until the last save is on disk, then removes leftovers of an earlier, killed writer.
  /// @throws IoError       The save failed (names its step), or something cannot be removed.
  /// @throws TimeoutError  It is not on disk after `longest_wait`.
  void finish();

 private:
  /// State of the thread, which may outlive the Saver.
  struct Background {
    explicit Background(const std::filesystem::path& root, const FolderOptions& options);
    std::atomic<bool> is_abandoned = false;
    CheckpointFolder folder;
    Contents copies;  // of tensors on a device; the thread reads them, so they change only while none runs
  };
  // The input of one save: tensors on the host, and the locks on them in the order of writing.
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
  std::int64_t step_ = 0;      // of the running save
  bool is_saving_ = false;     // the running work is a save
  std::future<void> running_;  // the task of `writer_`
  std::thread writer_;
};

}  // namespace lockstep::checkpoint
