#pragma once
/// @file
/// Texts: any file or the course's frozen one, and their bytes as token ids.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

/// Token ids of byte text are the bytes themselves.
inline constexpr std::int32_t kByteVocabularySize = 256;

/// A text in two disjoint parts: the first nine tenths for training, the rest for validation.
struct TextParts {
  std::string_view training;
  std::string_view validation;
};

/// Reads a text.
/// @param path  Any file; empty for the course text, whose checksum is verified.
/// @throws IoError      The file cannot be read; names it.
/// @throws FormatError  It is empty, compressed, in UTF-16, or a Git LFS pointer (says what to do), or does not match
///                      its checksum (course text).
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// The first nine tenths of `text`, and the rest: views of it.
/// @param name  Of the text, for messages.
/// @throws FormatError  Fewer than 2 bytes.
[[nodiscard]] TextParts split_text(std::string_view text, const std::string& name);

[[nodiscard]] std::vector<std::int32_t> encode_bytes(std::string_view text);
/// @throws ContractError  An id outside [0, 256).
[[nodiscard]] std::string decode_bytes(std::span<const std::int32_t> ids);

/// Finds the course text: LOCKSTEP_COURSE_TEXT (which may name your own text, without a checksum file), else beside the
/// running program, else in the source tree that this program was built from.
/// @throws IoError  Not found; lists the places.
[[nodiscard]] std::filesystem::path find_course_text();

/// Compares a file with the SHA-256 checksum in the file `path`.sha256 (as `sha256sum` writes it).
/// @throws IoError      One of the two cannot be read.
/// @throws FormatError  The checksum does not match; gives both.
void verify_checksum(const std::filesystem::path& path);

}  // namespace lockstep::data
