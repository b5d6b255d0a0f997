#include "checkpoint/tensor_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPickledFile = "pytorch_model.bin";

// The file of a folder to open: its only file, else its index.
fs::path file_of_folder(const fs::path& folder) {
  for (const char* name : {kModelFile, kShardIndexFile}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  const bool is_pickled = fs::exists(folder / kPickledFile) || fs::exists(folder / concat(kPickledFile, ".index.json"));
  throw IoError(concat(folder.string(), " has neither ", kModelFile, " nor ", kShardIndexFile,
                       is_pickled ? "; its pytorch_model.bin is a Python pickle, which only PyTorch can read: save the "
                                    "model once more in Python with save_pretrained(folder, safe_serialization=True)"
                                  : "; name a folder with one of them"));
}

// {tensor: file} of an index, checked.
std::map<std::string, std::string> weight_map(const fs::path& index) {
  const nlohmann::json content = parse_json(read_file(index), index);
  if (!content.is_object() || !content.contains("weight_map") || !content["weight_map"].is_object()) {
    throw FormatError(concat(index.string(), " is not an index of shards: it has no object \"weight_map\""));
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : content["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (!is_plain_file_name(name)) {
      throw FormatError(
          concat(index.string(), ": the place of tensor ", tensor, " is not the name of a file beside it"));
    }
    files[tensor] = name;
  }
  if (files.empty()) throw FormatError(concat(index.string(), " lists no tensors"));
  return files;
}

}  // namespace

TensorFiles::TensorFiles(const fs::path& path) : path_(path) {
  const fs::path file = fs::is_directory(path) ? file_of_folder(path) : path;
  if (file.extension() == ".json") {
    add_shards(file);
  } else {
    add_file(file);
  }
}

void TensorFiles::add_file(const fs::path& file) {
  files_.push_back(std::make_unique<const SafetensorsFile>(file));
  for (const TensorEntry& entry : files_.back()->entries()) {
    const auto [place, is_new] = file_by_tensor_.emplace(entry.name, files_.back().get());
    if (is_new) continue;
    throw FormatError(
        concat("tensor ", entry.name, " is both in ", place->second->path().string(), " and in ", file.string()));
  }
}

void TensorFiles::add_shards(const fs::path& index) {
  const std::map<std::string, std::string> places = weight_map(index);
  std::set<std::string> names;
  for (const auto& [tensor, file] : places) names.insert(file);
  for (const std::string& name : names) {
    if (fs::exists(index.parent_path() / name)) continue;
    throw IoError(concat(index.string(), " names the file ", name, ", which is not beside it: of ", names.size(),
                         " files all are needed"));
  }
  for (const std::string& name : names) add_file(index.parent_path() / name);
  for (const auto& [tensor, file] : places) {
    const auto found = file_by_tensor_.find(tensor);
    if (found != file_by_tensor_.end() && found->second->path().filename() == file) continue;
    throw FormatError(concat(index.string(), " says that tensor ", tensor, " is in ", file, ", where it is not"));
  }
}

std::vector<std::string> TensorFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_by_tensor_) names.push_back(name);
  return names;
}

const TensorEntry* TensorFiles::find(const std::string& name) const noexcept {
  const auto found = file_by_tensor_.find(name);
  return found == file_by_tensor_.end() ? nullptr : found->second->find(name);
}

const SafetensorsFile& TensorFiles::file_with(const std::string& name) const {
  const auto found = file_by_tensor_.find(name);
  if (found == file_by_tensor_.end()) throw FormatError(concat(path_.string(), ": no tensor ", name));
  return *found->second;
}

bool TensorFiles::are_equal(const std::string& name, const std::string& other) const {
  const SafetensorsFile &file = file_with(name), &other_file = file_with(other);
  const TensorEntry &entry = *file.find(name), &other_entry = *other_file.find(other);
  if (entry.type != other_entry.type || entry.shape != other_entry.shape) return false;
  constexpr std::uint64_t kBytesAtOnce = 1 << 20;
  const std::uint64_t bytes = entry.end - entry.begin;
  for (std::uint64_t offset = 0; offset < bytes; offset += kBytesAtOnce) {
    const auto count = static_cast<std::size_t>(std::min(kBytesAtOnce, bytes - offset));
    std::vector<std::byte> piece(count), other_piece(count);
    file.read_bytes(entry, offset, piece);
    other_file.read_bytes(other_entry, offset, other_piece);
    if (piece != other_piece) return false;
  }
  return true;
}

void TensorFiles::require_readable(const std::string& name, const Shape& shape, DType dtype) const {
  const SafetensorsFile& file = file_with(name);
  const TensorEntry& entry = *file.find(name);
  if (entry.shape == shape && widens_to(entry.type, dtype)) return;
  throw FormatError(concat(file.path().string(), ": tensor ", name, " is ", word_for(entry.type), " ", entry.shape,
                           ", expected ", dtype, " ", shape));
}

void TensorFiles::read_into(const std::string& name, const Tensor& destination) const {
  require_readable(name, destination.shape(), destination.dtype());
  const bool is_on_host = destination.device().is_cpu();
  const Tensor values = is_on_host ? destination : Tensor::empty(destination.shape(), destination.dtype());
  const SafetensorsFile& file = file_with(name);
  file.read_elements(*file.find(name), values);
  if (!is_on_host) destination.copy_from(values);
}

}  // namespace lockstep::checkpoint
