#pragma once
/// @file
/// The weights of a model as Hugging Face publishes them: one file model.safetensors, or several ("shards") with an
/// index that says which tensor is in which.
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

/// All tensors of one model, whichever files hold them. Thread safety: const calls from any thread.
class TensorFiles {
 public:
  /// Opens and checks every file.
  /// @param path  A folder with model.safetensors or, where it has none, model.safetensors.index.json; or one of these
  ///              files, whatever it is called.
  /// @throws IoError      A file is missing; of a folder without either, says what is there instead.
  /// @throws FormatError  A file or the index is not well-formed; a tensor is not where the index says, or in two
  /// files.
  explicit TensorFiles(const std::filesystem::path& path);

  /// The folder or file given to the constructor.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Of all tensors, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  /// How many files there are, without the index.
  [[nodiscard]] std::size_t file_count() const noexcept { return files_.size(); }

  /// The entry of that name, or null.
  [[nodiscard]] const TensorEntry* find(const std::string& name) const noexcept;
  /// Whether two tensors have the same type, shape and bytes.
  /// @throws FormatError  No such tensor. @throws IoError, FormatError  As InputFile::read().
  [[nodiscard]] bool are_equal(const std::string& name, const std::string& other) const;

  /// Checks that read_into() would succeed.
  /// @throws FormatError  No such tensor, another shape, or a type of which `dtype` loses something; names the file.
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
