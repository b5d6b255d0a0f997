#pragma once
/// @file
/// The weights of a model as published by Hugging Face: one file model.safetensors, or several ("shards") with an index
/// from tensors to files.
/// @source  huggingface/transformers, docs "Big models", section "Sharded checkpoints"; the index is
///          {"metadata": {...}, "weight_map": {tensor: file}}.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"

namespace lockstep::checkpoint {

inline constexpr const char* kShardIndexFile = "model.safetensors.index.json";  ///< Beside the shards.

/// All tensors of one model, from one or several files. Thread safety: const calls from any thread.
class TensorFiles {
 public:
  /// Opens and checks every file.
  /// @param path  A folder with model.safetensors or, if it has none, model.safetensors.index.json; or one of these
  ///              files, under any name.
  /// @throws IoError      A file is missing; for a folder without either, says what is there instead.
  /// @throws FormatError  A file or the index is not well-formed; a tensor is not in the file that the index names, or
  ///                      is in two files.
  explicit TensorFiles(const std::filesystem::path& path);

  /// The folder or file given to the constructor.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Of all tensors, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Without the index.
  [[nodiscard]] std::size_t file_count() const noexcept { return files_.size(); }

  /// Null if there is no such entry.
  [[nodiscard]] const TensorEntry* find(const std::string& name) const noexcept;
  /// Whether two tensors have the same type, shape and bytes.
  /// @throws FormatError  No such tensor. @throws IoError, FormatError  As InputFile::read().
  [[nodiscard]] bool are_equal(const std::string& name, const std::string& other) const;

  /// Checks that read_into() would succeed.
  /// @throws FormatError  No such tensor, another shape, or a type that `dtype` cannot represent without loss; names
  ///                      the file.
  void require_readable(const std::string& name, const Shape& shape, DType dtype) const;
  /// Copies a tensor's elements to `destination`, on any device; F16, BF16 and BOOL are widened as widens_to() says.
  /// @throws FormatError  As require_readable().
  void read_into(const std::string& name, const Tensor& destination) const;

 private:
  void add_file(const std::filesystem::path& file);
  void add_shards(const std::filesystem::path& index);
  [[nodiscard]] const SafetensorsFile& file_with(const std::string& name) const;

  std::filesystem::path path_;
  std::vector<std::unique_ptr<const SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsFile*> file_by_tensor_;
};

}  // namespace lockstep::checkpoint
