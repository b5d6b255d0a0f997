#pragma once
/// @file
/// The list of a checkpoint's files with their sizes and checksums, and reading JSON that may be damaged.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

struct XXH3_state_s;

namespace lockstep::checkpoint {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";        ///< Everything else.
inline constexpr const char* kManifestFile = "manifest.json";  ///< Size and checksum of the others.

/// Limit on nested lists and objects in JSON from outside. Otherwise a text of brackets alone could overflow the stack
/// of a recursive reader.
inline constexpr int kMaxJsonDepth = 32;

/// Reads JSON from a file whose content cannot be trusted.
/// @param path  For the message.
/// @throws FormatError  Not JSON, or more than kMaxJsonDepth levels.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::filesystem::path& path);

/// Whether `name` stays inside its folder and needs no interpretation by the system: for lists from outside.
[[nodiscard]] bool is_plain_file_name(const std::string& name);

/// One file of a checkpoint.
struct FileEntry {
  std::string name;  ///< Without a folder.
  std::uint64_t bytes = 0;
  std::string xxh3;  ///< 64-bit XXH3 of its content (Collet, xxHash 0.8), as `xxhsum -H3` prints it: 16 digits.

  bool operator==(const FileEntry&) const = default;
};

/// The contents of manifest.json.
struct Manifest {
  std::int64_t step = 0;         ///< At least 0.
  std::vector<FileEntry> files;  ///< Names distinct and ascending; model, optimizer and state among them.

  bool operator==(const Manifest&) const = default;
};

/// The checksum of bytes that come piece by piece.
class Checksum {
 public:
  Checksum();
  void add(std::string_view bytes);
  /// Of all bytes so far, as FileEntry::xxh3.
  [[nodiscard]] std::string text() const;
  /// Of all bytes so far.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
  std::uint64_t bytes_ = 0;
};

/// Writes a file and computes its checksum from the bytes as passed in, not from what the disk or page cache returns.
class FileWriter {
 public:
  /// Creates or truncates the file. @throws IoError  It cannot be made.
  explicit FileWriter(std::filesystem::path path);
  /// Appends. @throws IoError  The disk is full, for example.
  void write(std::string_view bytes);
  /// Written so far.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return checksum_.bytes(); }
  /// Waits until the file is on disk (fsync), and drops its cached pages, so that the next reader reads the disk.
  /// Called last. @throws IoError  The disk failed.
  FileEntry finish();

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  Checksum checksum_;
};

/// Size and checksum of a file on disk. @throws IoError  It cannot be read.
[[nodiscard]] FileEntry describe_file(const std::filesystem::path& path);

/// The text of manifest.json.
[[nodiscard]] std::string to_text(const Manifest& manifest);

/// @param path  Of the manifest, for the message.
/// @throws FormatError  Not a manifest of this format; names the error.
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::filesystem::path& path);

}  // namespace lockstep::checkpoint
