#pragma once
/// @file
/// Checkpoints that survive being killed while they are written.
///
/// A checkpoint is a folder `step_00000500` with model.safetensors, optimizer.safetensors, state.json and
/// manifest.json (size and XXH3 checksum of each of the others). It is written under a name that begins with a dot,
/// fsynced, compared with what was to be written by reading it back from the disk, and renamed; only then are older
/// ones removed. At every moment a kill leaves the newest complete checkpoint readable.
///
/// A checkpoint is removed only because newer ones of the same run have been written and read back. What cannot be read
/// is not taken for damaged, and what belongs to a part of the run that was given up is renamed and kept.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/retention.hpp"
#include "checkpoint/safetensors.hpp"

namespace lockstep::checkpoint {

/// What is saved, or where loading puts it: tensors are views.
struct Contents {
  std::vector<NamedTensor> model = {};      ///< Hugging Face's names where the model uses them.
  std::vector<NamedTensor> optimizer = {};  ///< For example "h.0.attn.c_attn.weight.exp_avg".
};

/// Where checkpoints are kept, and how many.
struct FolderOptions {
  int keep_last = 2;  ///< Checkpoints kept; older ones are removed after a save. At least 1.
  /// The checkpoint that the run was resumed from: the first save sets those behind it aside. Empty: it was not
  /// resumed.
  std::filesystem::path resumed_from = {};
  /// Called with the name of each step of save() before it is taken; tests stop there. May be empty.
  std::function<void(std::string_view step)> on_save_step = {};
};

/// The checkpoints of one run. One process writes (rank 0); any may read. Thread safety: one thread at a time.
class CheckpointFolder {
 public:
  /// @param root  Made on the first save.
  /// @throws ContractError  keep_last below 1.
  explicit CheckpointFolder(std::filesystem::path root, FolderOptions options = {});

  /// Writes a checkpoint, then removes what is no longer kept, including leftovers of a killed writer. What cannot be
  /// removed or set aside is logged, and tried again after the next save.
  /// @param step        In the name; at least 0. Saving a step again adds a newer checkpoint of that step. Those of
  ///                    higher steps are set aside, for the run was resumed from before them: "step_00000008" becomes
  ///                    "aside_step_00000008", which nothing here reads, counts or removes.
  /// @param contents    What is saved, on any device.
  /// @param state       Everything else that resuming needs: step, epoch, sampler, seed, schedule, options.
  /// @param on_written  Called for each tensor, first the model's, then the optimizer's, in their order, before the
  ///                    first wait for the disk.
  /// @return            The checkpoint's folder.
  /// @throws IoError      The disk failed or is full. Earlier checkpoints are untouched, and what was written is
  ///                      removed, unless only the last fsync failed.
  /// @throws FormatError  What was read back is not what was written.
  std::filesystem::path save(std::int64_t step, const Contents& contents, const nlohmann::json& state,
                             const OnTensorWritten& on_written = {});

  /// Removes what a killed writer has left: leftovers, and checkpoints that its last save would have removed. For a run
  /// that has nothing to save any more. What cannot be removed, or not be read, stays, and a warning says so.
  /// @cost  Reads the newest checkpoint where there are more than keep_last.
  void tidy() noexcept;

  /// The newest checkpoint that verifies; nothing where there is none. A damaged one is skipped with a warning: a file
  /// is missing or not what the manifest says.
  /// @throws IoError  The newest one that is not damaged cannot be read, at the second attempt either. That says
  /// nothing
  ///                  about the checkpoint, so an older one is not taken in its place.
  /// @cost  Reads the whole checkpoint.
  [[nodiscard]] std::optional<std::filesystem::path> latest() const;

  /// All complete checkpoints, oldest first, unverified. @throws IoError  The folder cannot be read.
  [[nodiscard]] std::vector<std::filesystem::path> list() const;

 private:
  void set_given_up_aside();

  std::filesystem::path root_;
  FolderOptions options_;
  std::vector<Order> given_up_;  // behind what the run was resumed from, and not yet set aside
};

/// The step in a checkpoint folder's name; nothing for other names. @param checkpoint  A path that ends in the name.
[[nodiscard]] std::optional<std::int64_t> step_of(const std::filesystem::path& checkpoint);

/// Compares every file of a checkpoint with its manifest.
/// @throws IoError      A file is missing or cannot be read.
/// @throws FormatError  A size or checksum differs; names the file, expected and found.
void verify(const std::filesystem::path& checkpoint);

/// A short text that checkpoints with the same files share and others do not: the checksum of the manifest, which has
/// those of all files. @throws IoError  There is no manifest.
[[nodiscard]] std::string fingerprint(const std::filesystem::path& checkpoint);

/// Verifies a checkpoint, then fills the tensors of `destinations`.
/// @param checkpoint    A folder, as returned by CheckpointFolder::latest().
/// @param destinations  Tensors of the shapes and types saved; an empty optimizer list skips the optimizer.
/// @return              The state given to save().
/// @throws IoError, FormatError  As verify() and load_tensors(); nothing is then written to the tensors.
nlohmann::json load(const std::filesystem::path& checkpoint, const Contents& destinations);

/// The state alone, without touching tensors (to build the model that the checkpoint needs). Verifies state.json only.
[[nodiscard]] nlohmann::json load_state(const std::filesystem::path& checkpoint);

}  // namespace lockstep::checkpoint
