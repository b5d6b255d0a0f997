#pragma once
/// @file
/// Texts: any file, the course's own frozen one, and their bytes as token ids.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

/// Token ids of byte text are the bytes themselves.
inline constexpr std::int32_t kByteVocabularySize = 256;

/// A text in two parts that share no byte: the first nine tenths to train on, the rest to validate.
struct TextParts {
  std::string_view training;    ///< The first 90 %.
  std::string_view validation;  ///< The rest.
};

/// Reads a text.
/// @param path  Any file; empty for the course text, whose checksum is verified.
/// @throws IoError      The file cannot be read; names it.
/// @throws FormatError  It is empty, or compressed, in UTF-16, or a Git LFS pointer (says what to do), or (course text)
///                      not what its checksum says.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// The first nine tenths of `text`, and the rest: views of it.
/// @param name  What messages call the text.
/// @throws FormatError  Fewer than 2 bytes.
[[nodiscard]] TextParts split_text(std::string_view text, const std::string& name);

/// Bytes to ids.
[[nodiscard]] std::vector<std::int32_t> encode_bytes(std::string_view text);
/// Ids to bytes. @throws ContractError  An id outside [0, 256).
[[nodiscard]] std::string decode_bytes(std::span<const std::int32_t> ids);

/// Where the course text is: LOCKSTEP_COURSE_TEXT (a text of one's own there needs no checksum file), else beside the
/// running program, else in the source tree that this program was built from.
/// @throws IoError  Found nowhere; lists the places.
[[nodiscard]] std::filesystem::path find_course_text();

/// Compares a file with the SHA-256 checksum in the file `path`.sha256 (as `sha256sum` writes it).
/// @throws IoError      One of the two cannot be read.
/// @throws FormatError  They do not belong together; gives both checksums.
void verify_checksum(const std::filesystem::path& path);

}  // namespace lockstep::data
