#include "checkpoint/checkpoint.hpp"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "checkpoint/manifest.hpp"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::string_view kNamePrefix = "step_";
// What begins with these is being written or removed; a killed writer leaves it behind.
constexpr std::string_view kIncompletePrefix = ".incomplete_";
constexpr std::string_view kRemovedPrefix = ".removed_";

// The place of a checkpoint among others: its step, then how often that step had been saved before.
struct Order {
  std::int64_t step = 0;
  std::int64_t attempt = 1;
  auto operator<=>(const Order&) const = default;
};

std::string folder_name(const Order& order) {
  std::ostringstream name;
  name << kNamePrefix << std::setw(8) << std::setfill('0') << order.step;
  if (order.attempt > 1) name << '.' << order.attempt;
  return std::move(name).str();
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Order> parse_folder_name(const std::string& name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  const std::string_view rest = std::string_view(name).substr(kNamePrefix.size());
  const std::size_t dot = rest.find('.');
  const auto step = parse_number(rest.substr(0, dot));
  const auto attempt = dot == std::string_view::npos ? 1 : parse_number(rest.substr(dot + 1));
  if (!step || !attempt) return std::nullopt;
  const Order order{*step, *attempt};
  if (folder_name(order) != name) return std::nullopt;  // "step_-1", "step_5": not names that we write
  return order;
}

std::vector<Order> find_checkpoints(const fs::path& root) {
  std::vector<Order> found;
  if (!fs::is_directory(root)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(root))
    if (const auto order = parse_folder_name(entry.path().filename().string()); order && entry.is_directory())
      found.push_back(*order);
  std::ranges::sort(found);
  return found;
}

void remove_leftovers(const fs::path& root) {
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kIncompletePrefix) || name.starts_with(kRemovedPrefix)) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove_all(path);
}

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

void remove_checkpoint(const fs::path& root, const Order& order) {
  const fs::path removed = root / concat(kRemovedPrefix, folder_name(order));
  fs::rename(root / folder_name(order), removed);  // so that a kill in the middle leaves no half of one to be found
  fs::remove_all(removed);
}

// Keeps `just_saved` and the newest before it. Those of higher steps go: the run was resumed from an earlier step, and
// what it did after that is no longer its history.
void remove_old(const fs::path& root, int keep_last, const Order& just_saved) {
  std::vector<Order> others = find_checkpoints(root);
  std::erase(others, just_saved);
  int kept = 1;
  for (auto order = others.rbegin(); order != others.rend(); ++order)
    if (*order > just_saved || ++kept > keep_last) remove_checkpoint(root, *order);
}

FileEntry write_text(const fs::path& path, std::string_view text) {
  FileWriter file(path);
  file.write(text);
  return file.finish();
}

// What goes into a checkpoint, and who hears of what happens to it.
struct Save {
  std::int64_t step;
  const Contents& contents;
  const json& state;
  const OnTensorWritten& on_written;
  std::function<void(std::string_view)> announce;  // each step before it is taken
};

// Hands both files to the system before it waits for the disk. A thread that wants to change a tensor has to wait for
// the first, not for the second.
std::vector<FileEntry> write_tensors(const fs::path& folder, const Save& save) {
  save.announce("model");
  FileWriter model = begin_safetensors(folder / kModelFile, save.contents.model, {{"format", "pt"}},
                                       save.on_written);  // transformers insists on the entry
  save.announce("optimizer");
  FileWriter optimizer = begin_safetensors(folder / kOptimizerFile, save.contents.optimizer, {}, save.on_written);
  save.announce("flush");
  return {model.finish(), optimizer.finish()};
}

void write_checkpoint(const fs::path& folder, const Save& save) {
  const auto& announce = save.announce;
  announce("create");
  fs::create_directory(folder);
  Manifest manifest{.step = save.step, .files = write_tensors(folder, save)};
  announce("state");
  manifest.files.push_back(write_text(folder / kStateFile, dump_json(save.state, 2) + "\n"));
  announce("manifest");
  write_text(folder / kManifestFile, to_text(manifest));
  announce("sync");
  sync_to_disk(folder);
  announce("verify");
  verify(folder);
}

// Where that does not succeed, the disk may be full: what was written goes, or it would stay so.
void write_or_remove(const fs::path& folder, const std::function<void()>& write) {
  try {
    write();
  } catch (...) {
    std::error_code ignored;  // the error above says more
    fs::remove_all(folder, ignored);
    throw;
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path root, FolderOptions options)
    : root_(std::move(root)), options_(std::move(options)) {
  require(options_.keep_last >= 1, "keep_last ", options_.keep_last, " would keep no checkpoint");
}

fs::path CheckpointFolder::save(std::int64_t step, const Contents& contents, const json& state,
                                const OnTensorWritten& on_written) {
  require(step >= 0, "saving step ", step);
  const auto announce = [this](std::string_view name) {
    if (options_.on_save_step) options_.on_save_step(name);
  };
  try {
    announce("clean");
    fs::create_directories(root_);
    remove_leftovers(root_);
    Order order{.step = step};
    while (fs::exists(root_ / folder_name(order))) ++order.attempt;
    const fs::path incomplete = root_ / concat(kIncompletePrefix, folder_name(order));
    const fs::path complete = root_ / folder_name(order);
    write_or_remove(incomplete, [&] {
      write_checkpoint(incomplete, {step, contents, state, on_written, announce});
      announce("rename");
      fs::rename(incomplete, complete);
    });
    announce("sync_root");
    sync_to_disk(root_);
    announce("prune");
    remove_old(root_, options_.keep_last, order);
    return complete;
  } catch (const fs::filesystem_error& error) {
    throw IoError(concat("saving a checkpoint in ", root_.string(), ": ", error.what()));
  }
}

void CheckpointFolder::tidy() {
  if (!fs::is_directory(root_)) return;
  try {
    remove_leftovers(root_);
    if (std::ssize(find_checkpoints(root_)) <= options_.keep_last) return;
    const auto newest = latest();  // verified: what is behind it may be damaged, and is then no reason to remove it
    if (newest) remove_old(root_, options_.keep_last, *parse_folder_name(newest->filename().string()));
  } catch (const fs::filesystem_error& error) {
    throw IoError(concat("cleaning up in ", root_.string(), ": ", error.what()));
  }
}

std::vector<fs::path> CheckpointFolder::list() const {
  std::vector<fs::path> paths;
  for (const Order& order : find_checkpoints(root_)) paths.push_back(root_ / folder_name(order));
  return paths;
}

std::optional<fs::path> CheckpointFolder::latest() const {
  std::vector<fs::path> paths = list();
  for (; !paths.empty(); paths.pop_back()) {
    try {
      verify(paths.back());
      return paths.back();
    } catch (const Error& error) {
      Logger().warning(concat("skipping a damaged checkpoint: ", error.what()));
    }
  }
  return std::nullopt;
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
  const SafetensorsFile model(checkpoint / kModelFile);
  const SafetensorsFile optimizer(checkpoint / kOptimizerFile);
  const bool wants_optimizer = !destinations.optimizer.empty();
  if (wants_optimizer) require_loadable(optimizer, destinations.optimizer);
  load_tensors(model, destinations.model);
  if (wants_optimizer) load_tensors(optimizer, destinations.optimizer);
  return load_state(checkpoint);
}

}  // namespace lockstep::checkpoint
