#pragma once
/// @file
/// Recognizes files that are often found in place of the right one: a failed download, a compressed file, text in
/// another encoding.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// The actual type of a file.
enum class ForeignKind {
  kLfsPointer,  ///< Git LFS has left its three-line pointer in place of the file.
  kHtml,        ///< A web page: an error or a login in place of a download.
  kZip,         ///< A zip archive, also written by torch.save().
  kCompressed,  ///< gzip, bzip2, xz or zstd.
  kUtf16        ///< Text with two (or four) bytes per character.
};

inline constexpr std::size_t kForeignBytes = 4096;

/// A file of another type than expected.
struct ForeignFile {
  ForeignKind kind;
  std::string explanation;  ///< Follows the file's name: "is compressed with gzip: unpack it first (gunzip)".
};

/// Judges a file's type by its first bytes; nothing if it is none of these. A correct file may begin like one of them
/// by chance, so ask only about a file that has turned out to be wrong.
/// @param beginning  The first kForeignBytes, or all of a shorter file.
/// @param file       Its name for the commands in the explanation.
[[nodiscard]] std::optional<ForeignFile> explain_foreign_file(std::string_view beginning, const std::string& file);

}  // namespace lockstep
