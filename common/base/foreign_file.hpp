#pragma once
/// @file
/// Recognizing what often stands where another file should: a download that went wrong, a compressed file, a text in
/// another encoding.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// What a file is instead.
enum class ForeignKind {
  kLfsPointer,  ///< Git LFS has left three lines in place of the file.
  kHtml,        ///< A web page: an error or a login in place of a download.
  kZip,         ///< A zip archive, which torch.save() writes too.
  kCompressed,  ///< gzip, bzip2, xz or zstd.
  kUtf16        ///< A text of two (or four) bytes per character.
};

/// How many bytes explain_foreign_file() looks at.
inline constexpr std::size_t kForeignBytes = 4096;

/// A file of another kind than the one that is asked for.
struct ForeignFile {
  ForeignKind kind;         ///< What it is.
  std::string explanation;  ///< To follow the file's name: "is compressed with gzip: unpack it first (gunzip)".
};

/// What a file is, judged by its first bytes; nothing for one that is none of these. A file that is what it should be
/// may, by chance, begin like one of them: ask only about a file that has turned out not to be.
/// @param beginning  The first kForeignBytes, or all of a shorter file.
/// @param file       Its name as the explanation's commands show it.
[[nodiscard]] std::optional<ForeignFile> explain_foreign_file(std::string_view beginning, const std::string& file);

}  // namespace lockstep
