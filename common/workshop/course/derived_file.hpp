#pragma once
/// @file
/// Two programs that stay comparable line by line: one derives from the other and differs only on tagged lines.
///
/// A derived file begins with `// DERIVES FROM <path of the base> new<=N changed<=M`. Its tags:
///   - `// NEW` at a line's end: the line is not in the base.
///   - `// CHANGED` at a line's end: the line replaces one base line, and differs from it.
///   - `// NEW: why` and `// CHANGED: why` on lines of their own give reasons, and are new lines themselves.
///   - `// GONE: <base line>` keeps a removed line visible, and counts as changed.
/// White space is ignored: indentation, runs of blanks, empty lines. A base that is itself derived is read without its
/// own header, reasons and tags.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::course {

/// Lines of a base are at most this wide, so that a tag still fits at the end of each line in a derived file.
inline constexpr std::size_t kBaseColumns = 80;
/// Lines of a derived file are at most this wide.
inline constexpr std::size_t kDerivedColumns = 100;

/// The first line of a derived file.
struct DerivedHeader {
  std::string base_path;  ///< Below the project's root.
  int new_budget = 0;
  int changed_budget = 0;  ///< Lines that may be changed or gone.
};

/// The header on `first_line`, or nothing if the line is no such header.
/// @throws FormatError  The line begins like a header but is malformed; the message shows the form.
[[nodiscard]] std::optional<DerivedHeader> parse_derived_header(std::string_view first_line);

enum class RowKind { kSame, kNew, kChanged, kGone };

/// One line of a side-by-side listing: indices into the two files' lines, -1 for none.
struct AlignedRow {
  RowKind kind = RowKind::kSame;
  int base_index = -1;     ///< -1 for kNew.
  int derived_index = -1;  ///< -1 only for an empty line of the base.
};

/// A derived file laid against its base.
struct Alignment {
  std::vector<AlignedRow> rows;       ///< In reading order, up to the line at which the walk stopped.
  int new_count = 0;                  ///< NEW lines and reasons.
  int changed_count = 0;              ///< CHANGED and GONE lines.
  std::vector<std::string> problems;  ///< Empty if the pair keeps the rules; each names file and line.
};

/// Walks both files once, without guessing: NEW lines are dropped, a GONE line must be the next base line, a CHANGED
/// line must differ from it, any other line must equal it. Stops at the first line that has no counterpart.
/// @param base     The file that `header` names.
/// @param derived  Its first line is the header.
/// @param header   Supplies the budgets.
[[nodiscard]] Alignment align_derived_file(const TextFile& base, const TextFile& derived, const DerivedHeader& header);

/// A derived file of the project, with its base.
struct DerivedPair {
  DerivedHeader header;  ///< Of `derived`.
  TextFile base;
  TextFile derived;  ///< Header line included.
};

/// Reads `path`'s first line and, if it is a header, the base.
/// @param root  The project's root, which base paths start from.
/// @param path  Below `root`.
/// @return  Nothing if the file is not derived.
/// @throws FormatError  A broken header.
/// @throws IoError      The base does not exist; names both files.
[[nodiscard]] std::optional<DerivedPair> load_derived_pair(const std::filesystem::path& root,
                                                           const std::filesystem::path& path);

/// All derived files in the programs/ folder of one chapter, by name.
/// @param root     The project's root.
/// @param chapter  The folder's name ("06_gpt_ddp") or number ("06", "6").
/// @throws FormatError  No such chapter; lists the existing ones.
[[nodiscard]] std::vector<DerivedPair> derived_pairs_of_chapter(const std::filesystem::path& root,
                                                                const std::string& chapter);

}  // namespace lockstep::course
