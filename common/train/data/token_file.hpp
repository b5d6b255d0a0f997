#pragma once
/// @file
/// Files of tokens, as llm.c writes them: a header of 1024 bytes, then two bytes per token.
///
/// The header is 256 little-endian int32: the magic number 20240520, the version 1, the number of tokens, then zeros.
/// @source  karpathy/llm.c, dev/data/data_common.py (write_datafile) and llmc/dataloader.h, 2024.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/unique_fd.hpp"
#include "data/dataset.hpp"
#include "data/token_file_header.hpp"
#include "data/windows.hpp"

namespace lockstep::data {

/// An open token file. It is read piece by piece, not mapped: touching a mapped file that was truncated kills the
/// process, while a read can report the error. Thread safety: const calls from any thread at once.
class TokenFile {
 public:
  /// @throws IoError      It cannot be opened or read, or is a folder.
  /// @throws FormatError  Its header or its size is not that of a token file; says what is wrong and what to do.
  /// @cost  Reads the whole file, for its fingerprint.
  explicit TokenFile(std::filesystem::path path);

  /// At least 1.
  [[nodiscard]] std::int64_t token_count() const noexcept { return token_count_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// A checksum of its content when it was opened: files of equal bytes have equal ones, at any path.
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }

  /// Reads the tokens [first, first + tokens.size()). Continues if the file was only touched and its bytes are
  /// unchanged.
  /// @throws ContractError  A range outside the file.
  /// @throws FormatError    The file's content has changed since it was opened; gives both sizes.
  /// @throws IoError        The disk failed. Both name file and offset.
  void read(std::int64_t first, std::span<std::uint16_t> tokens) const;

 private:
  void require_unchanged(std::int64_t offset) const;

  std::filesystem::path path_;
  UniqueFd fd_;
  std::int64_t bytes_ = 0;
  std::int64_t token_count_ = 0;
  std::string fingerprint_;
  mutable std::mutex mutex_;     // guards the members below
  mutable timespec modified_{};  // last time at which the content matched `fingerprint_`
};

/// Samples from a range of a token file: windows as in TokenDataset.
class TokenFileDataset final : public Dataset {
 public:
  /// A part of the file, and how to cut it into windows.
  struct Options {
    std::int64_t first_token = 0;
    std::int64_t token_count = 0;      ///< Length of the range.
    std::int64_t context_length = 0;   ///< T, at least 1.
    std::int64_t vocabulary_size = 0;  ///< batch() throws if an id is not below this.
    Placement placement = Placement::kFixed;
    std::uint64_t seed = 0;  ///< Of random windows.
  };
  /// @throws FormatError    The range is too short for one sample; says how many tokens are needed.
  /// @throws ContractError  The range is not in the file.
  TokenFileDataset(std::shared_ptr<const TokenFile> file, const Options& options);

  [[nodiscard]] std::int64_t size() const noexcept override { return windows_.count(); }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override { return batch_of_epoch(indices, 0); }
  /// inputs, targets [B, T] int32.
  /// @throws FormatError, IoError  As TokenFile::read(); an id beyond the vocabulary: names file, offset and id.
  [[nodiscard]] Batch batch_of_epoch(std::span<const std::int64_t> indices, std::int64_t epoch) const override;

 private:
  void require_known(std::span<const std::uint16_t> tokens, std::int64_t first) const;

  std::shared_ptr<const TokenFile> file_;
  Options options_;
  Windows windows_;
};

/// Writes a token file under a temporary name, then renames it, so that `path` never holds half of one.
/// @throws FormatError  No tokens, or one that does not fit into two bytes.
/// @throws IoError      The disk failed, or `path` is a folder, for example.
void write_token_file(const std::filesystem::path& path, std::span<const std::int32_t> ids);

/// A checksum of a file's content: its size and the 128-bit XXH3 of all its bytes (Collet, xxHash 0.8).
/// @throws IoError  It cannot be read.
[[nodiscard]] std::string file_fingerprint(const std::filesystem::path& path);

/// The checksum of earlier versions: SHA-256 over the size and 64 evenly spaced blocks of 4096 bytes. It misses changes
/// of a large file between the blocks. @throws IoError  It cannot be read.
[[nodiscard]] std::string sampled_fingerprint(const std::filesystem::path& path);

}  // namespace lockstep::data
