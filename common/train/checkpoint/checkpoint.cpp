#include "checkpoint/checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/retention.hpp"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Manifest read_manifest(const fs::path& checkpoint) {
  return parse_manifest(read_file(checkpoint / kManifestFile), checkpoint / kManifestFile);
}

void verify_file(const fs::path& checkpoint, const FileEntry& expected) {
  const fs::path path = checkpoint / expected.name;
  const FileEntry found = describe_file(path);
  if (found == expected) return;
  throw FormatError(concat(path.string(), " is damaged: ", found.bytes, " bytes with checksum ", found.xxh3,
                           ", the manifest says ", expected.bytes, " with ", expected.xxh3));
}

// Whether a checkpoint has changed since it was written. An error of the disk, of a network file system, of permissions
// or of a process without descriptors does not show that.
bool is_damage(const Error& error) {
  const auto* const io = dynamic_cast<const IoError*>(&error);
  if (io == nullptr) return dynamic_cast<const FormatError*>(&error) != nullptr;
  const int number = io->error_number();
  return number == ENOENT || number == ENOTDIR || number == EISDIR;  // a file is gone, or replaced by something else
}

// Whether the checkpoint verifies. Retries, because a read that fails may succeed a moment later.
bool verifies(const fs::path& checkpoint) {
  for (int attempt = 1;; ++attempt) {
    try {
      verify(checkpoint);
      return true;
    } catch (const Error& error) {
      if (is_damage(error)) {
        Logger().warning(concat("skipping a damaged checkpoint: ", error.what()));
        return false;
      }
      if (attempt == 2) {
        throw IoError(concat("the checkpoint ", checkpoint.string(), " cannot be read (", error.what(),
                             "), which does not mean that it is damaged: try again, or name an older one beside it"));
      }
      Logger().warning(concat("reading a checkpoint once more: ", error.what()));
    }
  }
}

FileEntry write_text(const fs::path& path, std::string_view text) {
  FileWriter file(path);
  file.write(text);
  return file.finish();
}

UniqueFd make_folder(const fs::path& path) {
  fs::create_directory(path);
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) return folder;
  const int number = errno;
  std::error_code ignored;
  fs::remove(path, ignored);
  throw IoError(concat("opening the new folder ", path.string()), number);
}

// While `folder` is open, no other folder gets its number.
bool is_still_at(const UniqueFd& folder, const fs::path& path) {
  struct stat ours {};
  struct stat present {};
  return ::fstat(folder.get(), &ours) == 0 && ::stat(path.c_str(), &present) == 0 && ours.st_dev == present.st_dev &&
         ours.st_ino == present.st_ino;
}

// On failure the disk may be full: remove the new files, or it would stay full. After a long wait for the disk,
// somebody else may have removed the folder and be writing another one of its name: that one stays.
template <typename Write>
auto write_or_remove(const fs::path& path, const UniqueFd& folder, const Write& write) {
  try {
    return write();
  } catch (...) {
    std::error_code ignored;  // the error above is more useful
    if (is_still_at(folder, path)) fs::remove_all(path, ignored);
    throw;
  }
}

// Turns what std::filesystem throws into an error of ours.
template <typename Save>
auto saving_in(const fs::path& root, const Save& save) {
  try {
    return save();
  } catch (const fs::filesystem_error& error) {
    throw IoError(concat("saving a checkpoint in ", root.string(), ": ", error.what()));
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path root, FolderOptions options)
    : root_(std::move(root)), options_(std::move(options)) {
  require(options_.keep_last >= 1, "keep_last ", options_.keep_last, " would keep no checkpoint");
}

fs::path CheckpointFolder::save(std::int64_t step, const Contents& contents, const json& state,
                                const OnTensorWritten& on_written) {
  return complete(begin(step, {stream(contents.model, on_written), stream(contents.optimizer, on_written)}, state));
}

// Hands both files to the system before anything waits for the disk. A thread that wants to change a tensor must wait
// for the former, not for the latter.
BegunSave CheckpointFolder::begin(std::int64_t step, const StreamedContents& contents, const json& state) {
  require(step >= 0, "saving step ", step);
  return saving_in(root_, [&] {
    announce("clean");
    fs::create_directories(root_);
    remove_leftovers(root_);
    set_given_up_aside();
    Order order{.step = step};
    while (fs::exists(root_ / folder_name(order))) ++order.attempt;
    const fs::path path = root_ / concat(kIncompletePrefix, folder_name(order));
    announce("create");
    UniqueFd folder = make_folder(path);
    return write_or_remove(path, folder, [&]() -> BegunSave {
      announce("model");
      FileWriter model =
          begin_safetensors(path / kModelFile, contents.model, {{"format", "pt"}});  // transformers requires the entry
      announce("optimizer");
      FileWriter optimizer = begin_safetensors(path / kOptimizerFile, contents.optimizer);
      std::string text = dump_json(state, 2) + "\n";
      return {order, std::move(model), std::move(optimizer), std::move(text), std::move(folder)};
    });
  });
}

fs::path CheckpointFolder::complete(BegunSave save) {
  return saving_in(root_, [&] {
    const fs::path incomplete = root_ / concat(kIncompletePrefix, folder_name(save.order));
    const fs::path complete = root_ / folder_name(save.order);
    write_or_remove(incomplete, save.folder, [&] {
      announce("flush");
      Manifest manifest{.step = save.order.step, .files = {save.model.finish(), save.optimizer.finish()}};
      announce("state");
      manifest.files.push_back(write_text(incomplete / kStateFile, save.state));
      announce("manifest");
      write_text(incomplete / kManifestFile, to_text(manifest));
      announce("sync");
      sync_to_disk(incomplete);
      announce("verify");
      verify(incomplete);
      announce("rename");
      fs::rename(incomplete, complete);
    });
    announce("sync_root");
    sync_to_disk(root_);
    announce("prune");
    remove_old(root_, options_.keep_last, save.order, given_up_);
    return complete;
  });
}

void CheckpointFolder::announce(std::string_view save_step) const {
  if (options_.on_save_step) options_.on_save_step(save_step);
}

// The first save finds the checkpoints newer than the one that the run was resumed from. If one cannot be renamed, each
// later save tries again.
void CheckpointFolder::set_given_up_aside() {
  if (const auto resumed = parse_folder_name(without_aside(options_.resumed_from.filename().string()))) {
    for (const Order& order : find_checkpoints(root_))
      if (order > *resumed) given_up_.push_back(order);
  }
  options_.resumed_from.clear();
  std::erase_if(given_up_, [this](const Order& order) { return set_aside(root_, order); });
}

void CheckpointFolder::tidy() noexcept {
  try {
    if (!fs::is_directory(root_)) return;
    remove_leftovers(root_);
    if (std::ssize(find_checkpoints(root_)) <= options_.keep_last) return;
    const auto newest = latest();  // verified: if a newer one is damaged, that is no reason to remove it
    const bool is_continued =
        options_.resumed_from.empty() || (newest && newest->filename() == options_.resumed_from.filename());
    if (newest && is_continued)
      remove_old(root_, options_.keep_last, *parse_folder_name(newest->filename().string()), given_up_);
  } catch (const std::exception& error) {
    Logger().warning(concat("cannot clean up in ", root_.string(), ": ", error.what()));
  }
}

std::vector<fs::path> CheckpointFolder::list() const {
  std::vector<fs::path> paths;
  for (const Order& order : find_checkpoints(root_)) paths.push_back(root_ / folder_name(order));
  return paths;
}

std::optional<fs::path> CheckpointFolder::latest() const {
  std::vector<fs::path> paths = list();
  for (; !paths.empty(); paths.pop_back())
    if (verifies(paths.back())) return paths.back();
  return std::nullopt;
}

std::optional<std::int64_t> step_of(const fs::path& checkpoint) {
  const auto order = parse_folder_name(checkpoint.filename().string());
  return order ? std::optional(order->step) : std::nullopt;
}

void verify(const fs::path& checkpoint) {
  for (const FileEntry& file : read_manifest(checkpoint).files) verify_file(checkpoint, file);
}

std::string fingerprint(const fs::path& checkpoint) { return describe_file(checkpoint / kManifestFile).xxh3; }

json load_state(const fs::path& checkpoint) {
  const Manifest manifest = read_manifest(checkpoint);
  verify_file(checkpoint, *std::ranges::find(manifest.files, kStateFile, &FileEntry::name));
  return parse_json(read_file(checkpoint / kStateFile), checkpoint / kStateFile);
}

json load(const fs::path& checkpoint, const Contents& destinations) {
  verify(checkpoint);
  json state = load_state(checkpoint);
  const SafetensorsFile model(checkpoint / kModelFile);
  const SafetensorsFile optimizer(checkpoint / kOptimizerFile);
  const bool wants_optimizer = !destinations.optimizer.empty();
  if (wants_optimizer) require_loadable(optimizer, destinations.optimizer);
  load_tensors(model, destinations.model);
  if (wants_optimizer) load_tensors(optimizer, destinations.optimizer);
  return state;
}

json load_parts(const fs::path& checkpoint, const PartContents& destinations) {
  verify(checkpoint);
  json state = load_state(checkpoint);
  const SafetensorsFile model(checkpoint / kModelFile);
  const SafetensorsFile optimizer(checkpoint / kOptimizerFile);
  const bool wants_optimizer = !destinations.optimizer.empty();
  if (wants_optimizer) require_parts_loadable(optimizer, destinations.optimizer);
  load_parts(model, destinations.model);
  if (wants_optimizer) load_parts(optimizer, destinations.optimizer);
  return state;
}

}  // namespace lockstep::checkpoint
