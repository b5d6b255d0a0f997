#pragma once
/// @file
/// Checkpoints that survive being killed while they are written.
///
/// A checkpoint is a folder `step_00000500` with model.safetensors, optimizer.safetensors, state.json and
/// manifest.json (size and XXH3 checksum of each of the others). It is written under a name that begins with a dot,
/// fsynced, compared with what was to be written by reading it back from the disk, and renamed; only then are older
/// ones removed. At every moment a kill leaves the newest complete checkpoint readable.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// Called with the name of each step of save() before it is taken; tests stop there. May be empty.
  std::function<void(std::string_view step)> on_save_step = {};
};

/// The checkpoints of one run. One process writes (rank 0); any may read. Thread safety: one thread at a time.
class CheckpointFolder {
 public:
  /// @param root  Made on the first save.
  /// @throws ContractError  keep_last below 1.
  explicit CheckpointFolder(std::filesystem::path root, FolderOptions options = {});

  /// Writes a checkpoint and removes what is no longer kept, including leftovers of a killed writer.
  /// @param step        In the name; at least 0. Saving a step again adds a newer checkpoint of that step; those of
  ///                    higher steps are removed, for the run was resumed from before them.
  /// @param contents    What is saved, on any device.
  /// @param state       Everything else that resuming needs: step, epoch, sampler, seed, schedule, options.
  /// @param on_written  Called for each tensor, first the model's, then the optimizer's, in their order, before the
  ///                    first wait for the disk.
  /// @return            The checkpoint's folder.
  /// @throws IoError      The disk failed or is full. Earlier checkpoints are untouched, and what was written is
  /// removed.
  /// @throws FormatError  What was read back is not what was written.
  std::filesystem::path save(std::int64_t step, const Contents& contents, const nlohmann::json& state,
                             const OnTensorWritten& on_written = {});

  /// Removes what a killed writer has left: leftovers, and checkpoints that its last save would have removed. For a run
  /// that has nothing to save any more.
  /// @throws IoError  Something cannot be removed.
  /// @cost  Reads the newest checkpoint where there are more than keep_last.
  void tidy();

  /// The newest checkpoint that verifies; nothing where there is none. A damaged one is skipped with a warning.
  /// @cost  Reads the whole checkpoint.
  [[nodiscard]] std::optional<std::filesystem::path> latest() const;

  /// All complete checkpoints, oldest first, unverified.
  [[nodiscard]] std::vector<std::filesystem::path> list() const;

 private:
  std::filesystem::path root_;
  FolderOptions options_;
};

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
