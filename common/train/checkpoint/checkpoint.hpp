#pragma once
/// @file
/// Checkpoints that survive being killed while they are written.
///
/// A checkpoint is a folder `step_00000500` with model.safetensors, optimizer.safetensors, state.json and manifest.json
/// (size and XXH3 checksum of each of the others). It is written under a name that begins with a dot, fsynced, read
/// back from the disk and compared, and renamed; only then are older ones removed. A kill at any moment leaves the
/// newest complete checkpoint readable.
///
/// A checkpoint is removed only after newer ones of the same run have been written and read back. One that cannot be
/// read is not considered damaged, and those of an abandoned part of the run are renamed and kept.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "checkpoint/retention.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/tensor_parts.hpp"

namespace lockstep::checkpoint {

/// The source of a save, or the destination of a load: tensors are views.
struct Contents {
  std::vector<NamedTensor> model = {};      ///< Hugging Face's names if the model uses them.
  std::vector<NamedTensor> optimizer = {};  ///< For example "h.0.attn.c_attn.weight.exp_avg".
};

/// The same for a rank that holds parts of the tensors.
struct PartContents {
  std::vector<NamedPart> model = {};
  std::vector<NamedPart> optimizer = {};
};

/// The source of a save whose tensors' elements come while they are written.
struct StreamedContents {
  StreamedTensors model = {};
  StreamedTensors optimizer = {};
};

/// Options of CheckpointFolder.
struct FolderOptions {
  int keep_last = 2;  ///< Older ones are removed after a save. At least 1.
  /// The checkpoint that the run was resumed from: the first save sets newer ones aside. Empty: it was not resumed.
  std::filesystem::path resumed_from = {};
  /// Called with the name of each step of save() before it is taken; for tests. May be empty.
  std::function<void(std::string_view step)> on_save_step = {};
};

/// A checkpoint of which the system has all tensors, though the disk may not have them yet. If it is dropped, its
/// folder is left over, as that of a killed writer.
struct BegunSave {
  Order order;
  FileWriter model;
  FileWriter optimizer;
  std::string state;  ///< The text of state.json.
  UniqueFd folder;    ///< The incomplete one; tells it from a later one of the same name.
};

/// The checkpoints of one run. One process writes (rank 0); any may read. Thread safety: one thread at a time.
class CheckpointFolder {
 public:
  /// @param root  Made on the first save.
  /// @throws ContractError  keep_last below 1.
  explicit CheckpointFolder(std::filesystem::path root, FolderOptions options = {});

  /// Writes a checkpoint, then removes older ones and leftovers of a killed writer. Failures to remove or set aside are
  /// logged, and tried again after the next save.
  /// @param step        In the name; at least 0. Saving a step again adds a newer checkpoint of that step. Those of
  ///                    higher steps are set aside, because the run was resumed from before them: "step_00000008"
  ///                    becomes "aside_step_00000008", which nothing here reads, counts or removes.
  /// @param contents    On any device.
  /// @param state       Everything else that resuming needs: step, epoch, sampler, seed, schedule, options.
  /// @param on_written  Called for each tensor, first the model's, then the optimizer's, in their order, before the
  ///                    first wait for the disk.
  /// @return            The checkpoint's folder.
  /// @throws IoError      The disk failed or is full. Earlier checkpoints are untouched, and the new one is removed,
  ///                      unless only the last fsync failed.
  /// @throws FormatError  The data read back differs from the data written.
  std::filesystem::path save(std::int64_t step, const Contents& contents, const nlohmann::json& state,
                             const OnTensorWritten& on_written = {});

  /// The first half of a save: hands all tensors to the system. Only complete() waits for the disk.
  /// @param contents  Their callbacks are called here.
  /// @throws IoError  As save(). An error of a callback ends the save too: the new files are removed.
  [[nodiscard]] BegunSave begin(std::int64_t step, const StreamedContents& contents, const nlohmann::json& state);
  /// The second half.
  /// @return  The checkpoint's folder. @throws IoError, FormatError  As save().
  std::filesystem::path complete(BegunSave save);

  /// Removes leftovers of a killed writer, and checkpoints that its last save would have removed. For a run with
  /// nothing more to save. Files that cannot be removed or read stay, with a warning.
  /// @cost  Reads the newest checkpoint if there are more than keep_last.
  void tidy() noexcept;

  /// The newest checkpoint that verifies; nothing if there is none. Skips a damaged one (a file is missing or does not
  /// match the manifest) with a warning.
  /// @throws IoError  The newest undamaged one cannot be read, even at the second attempt. It may still be good, so an
  ///                  older one does not replace it.
  /// @cost  Reads the whole checkpoint.
  [[nodiscard]] std::optional<std::filesystem::path> latest() const;

  /// All complete checkpoints, oldest first, unverified. @throws IoError  The folder cannot be read.
  [[nodiscard]] std::vector<std::filesystem::path> list() const;

 private:
  void announce(std::string_view save_step) const;
  void set_given_up_aside();

  std::filesystem::path root_;
  FolderOptions options_;
  std::vector<Order> given_up_;  // newer than the one resumed from, and not yet set aside
};

/// The step in a checkpoint folder's name; nothing for other names. @param checkpoint  A path that ends in the name.
[[nodiscard]] std::optional<std::int64_t> step_of(const std::filesystem::path& checkpoint);

/// Compares every file of a checkpoint with its manifest.
/// @throws IoError      A file is missing or cannot be read.
/// @throws FormatError  A size or checksum differs; names the file, expected and found.
void verify(const std::filesystem::path& checkpoint);

/// A short text that is equal for checkpoints with the same files only: the checksum of the manifest, which contains
/// those of all files. @throws IoError  There is no manifest.
[[nodiscard]] std::string fingerprint(const std::filesystem::path& checkpoint);

/// Verifies a checkpoint, then fills the tensors of `destinations`.
/// @param checkpoint    A folder, as returned by CheckpointFolder::latest().
/// @param destinations  Tensors of the shapes and types saved; an empty optimizer list skips the optimizer.
/// @return              The state given to save().
/// @throws IoError, FormatError  As verify() and load_tensors(); nothing is then written to the tensors.
nlohmann::json load(const std::filesystem::path& checkpoint, const Contents& destinations);

/// The same for a rank that holds parts of the tensors: reads only these.
nlohmann::json load_parts(const std::filesystem::path& checkpoint, const PartContents& destinations);

/// Loads the state without the tensors (to build the model that the checkpoint needs). Verifies state.json only.
[[nodiscard]] nlohmann::json load_state(const std::filesystem::path& checkpoint);

}  // namespace lockstep::checkpoint
