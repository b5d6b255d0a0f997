#include "course/derived_file.hpp"

#include <algorithm>
#include <charconv>
#include <regex>

#include "base/error.hpp"

namespace lockstep::course {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeaderStart = "// DERIVES FROM ";

/// One line of a file, as the walk reads it.
struct WalkLine {
  RowKind kind = RowKind::kSame;
  bool is_reason = false;  ///< A comment on a line of its own: `// NEW: ...` or `// CHANGED: ...`.
  std::string text;        ///< Without its tag; runs of blanks collapsed.
  std::size_t index = 0;   ///< In the file.
};

WalkLine read_line(const TextFile& file, std::size_t index) {
  constexpr std::string_view kGone = "// GONE:", kNew = "// NEW", kChanged = "// CHANGED";
  std::string_view text = trim(file.lines[index]);
  if (text.starts_with("// NEW:") || text.starts_with("// CHANGED:")) return {RowKind::kNew, true, "", index};
  RowKind kind = RowKind::kSame;
  if (text.starts_with(kGone)) {
    kind = RowKind::kGone;
    text.remove_prefix(kGone.size());
  } else if (text.ends_with(kNew)) {
    kind = RowKind::kNew;
    text.remove_suffix(kNew.size());
  } else if (text.ends_with(kChanged)) {
    kind = RowKind::kChanged;
    text.remove_suffix(kChanged.size());
  }
  return {kind, false, collapse_blanks(text), index};
}

/// The base as code without any tags of its own.
std::vector<WalkLine> read_base(const TextFile& base) {
  const bool is_derived = !base.lines.empty() && base.lines[0].starts_with(kHeaderStart);
  std::vector<WalkLine> lines;
  for (std::size_t index = is_derived ? 1 : 0; index < base.lines.size(); ++index) {
    WalkLine line = is_derived ? read_line(base, index)
                               : WalkLine{RowKind::kSame, false, collapse_blanks(base.lines[index]), index};
    if (line.is_reason || line.kind == RowKind::kGone) continue;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The linear walk: a cursor in the base, moved by the lines of the derived file.
class Walk {
 public:
  Walk(const TextFile& base, const TextFile& derived) : base_(base), derived_(derived), base_lines_(read_base(base)) {}

  Alignment run() {
    bool goes_on = true;
    for (std::size_t index = 1; goes_on && index < derived_.lines.size(); ++index) {
      goes_on = take(read_line(derived_, index));
    }
    if (goes_on) take_empty_base_lines();
    if (goes_on && cursor_ < base_lines_.size()) {
      report(derived_.name, " ends before ", base_place(), ", which is neither kept nor marked GONE");
    }
    return std::move(result_);
  }

 private:
  /// False if the walk cannot go on: from there on, every line would be reported as wrong.
  bool take(const WalkLine& line) {
    if (line.kind == RowKind::kNew) {
      if (!line.is_reason && line.text.empty()) report(derived_.place(line.index), " tags an empty line NEW");
      ++result_.new_count;
      result_.rows.push_back({RowKind::kNew, -1, static_cast<int>(line.index)});
      return true;
    }
    if (line.kind == RowKind::kSame && line.text.empty()) return take_empty_line(line);
    take_empty_base_lines();
    if (cursor_ == base_lines_.size()) {
      report(derived_.place(line.index), " stands after the end of ", base_.name, " and is not tagged NEW");
      return false;
    }
    if (!compare(line)) return false;
    if (line.kind != RowKind::kSame) ++result_.changed_count;
    push(line.kind, static_cast<int>(line.index));
    return true;
  }

  bool compare(const WalkLine& line) {
    const bool is_equal = line.text == base_lines_[cursor_].text;
    const std::string place = derived_.place(line.index);
    if (line.kind == RowKind::kSame && !is_equal) {
      report(place, " differs from ", base_place(), " and has no tag");
      return false;
    }
    if (line.kind == RowKind::kGone && !is_equal) {
      report(place, " is tagged GONE but is not the next line of the base, ", base_place());
      return false;
    }
    if (line.kind == RowKind::kChanged && is_equal) report(place, " is tagged CHANGED but equals ", base_place());
    return true;
  }

  bool take_empty_line(const WalkLine& line) {
    const bool is_in_both = cursor_ < base_lines_.size() && base_lines_[cursor_].text.empty();
    if (is_in_both)
      push(RowKind::kSame, static_cast<int>(line.index));
    else
      result_.rows.push_back({RowKind::kSame, -1, static_cast<int>(line.index)});
    return true;
  }

  void take_empty_base_lines() {
    while (cursor_ < base_lines_.size() && base_lines_[cursor_].text.empty()) push(RowKind::kSame, -1);
  }

  void push(RowKind kind, int derived_index) {
    result_.rows.push_back({kind, static_cast<int>(base_lines_[cursor_].index), derived_index});
    ++cursor_;
  }

  [[nodiscard]] std::string base_place() const { return base_.place(base_lines_[cursor_].index); }

  template <typename... Parts>
  void report(const Parts&... parts) {
    result_.problems.push_back(concat(parts...));
  }

  const TextFile& base_;
  const TextFile& derived_;
  std::vector<WalkLine> base_lines_;
  std::size_t cursor_ = 0;
  Alignment result_;
};

void check_width(const TextFile& file, std::size_t limit, std::string_view what, std::vector<std::string>& problems) {
  for (std::size_t index = 0; index < file.lines.size(); ++index) {
    const std::size_t columns = column_count(file.lines[index]);
    if (columns <= limit) continue;
    problems.push_back(
        concat(file.place(index), " is ", columns, " columns wide; a line of ", what, " has at most ", limit));
  }
}

void check_budget(const TextFile& derived, std::string_view what, int count, int budget,
                  std::vector<std::string>& problems) {
  if (count <= budget) return;
  problems.push_back(concat(derived.name, " has ", count, " ", what, " lines; its header allows ", budget));
}

/// "06" for "6" and "06"; anything else is returned unchanged.
std::string two_digits(const std::string& chapter) { return chapter.size() == 1 ? "0" + chapter : chapter; }

fs::path find_chapter(const fs::path& root, const std::string& chapter) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "chapters")) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  std::string known;
  for (const std::string& name : names) {
    if (name == chapter || name.substr(0, 2) == two_digits(chapter)) return fs::path("chapters") / name;
    known += concat(known.empty() ? "" : ", ", name);
  }
  throw FormatError(concat("there is no chapter '", chapter, "'; chapters here: ", known));
}

}  // namespace

std::optional<DerivedHeader> parse_derived_header(std::string_view first_line) {
  if (!first_line.starts_with(kHeaderStart)) return std::nullopt;
  static const std::regex kForm(R"(// DERIVES FROM (\S+) new<=(\d{1,4}) changed<=(\d{1,4})\s*)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(first_line.begin(), first_line.end(), match, kForm)) {
    throw FormatError(concat("'", first_line, "' is not of the form '// DERIVES FROM path new<=14 changed<=6'"));
  }
  return DerivedHeader{match[1].str(), std::stoi(match[2].str()), std::stoi(match[3].str())};
}

Alignment align_derived_file(const TextFile& base, const TextFile& derived, const DerivedHeader& header) {
  Alignment alignment = Walk(base, derived).run();
  check_budget(derived, "new", alignment.new_count, header.new_budget, alignment.problems);
  check_budget(derived, "changed", alignment.changed_count, header.changed_budget, alignment.problems);
  const bool base_is_derived = !base.lines.empty() && base.lines[0].starts_with(kHeaderStart);
  if (!base_is_derived) check_width(base, kBaseColumns, "a base", alignment.problems);
  check_width(derived, kDerivedColumns, "a derived file", alignment.problems);
  return alignment;
}

std::optional<DerivedPair> load_derived_pair(const fs::path& root, const fs::path& path) {
  TextFile derived = read_text_file(root / path, path.filename().string());
  if (derived.lines.empty()) return std::nullopt;
  std::optional<DerivedHeader> header;
  try {
    header = parse_derived_header(derived.lines[0]);
  } catch (const FormatError& error) {
    throw FormatError(concat(path.generic_string(), ":1: ", error.what()));
  }
  if (!header) return std::nullopt;
  const fs::path base_path = header->base_path;
  if (!fs::exists(root / base_path)) {
    throw IoError(concat(path.generic_string(), " derives from ", header->base_path, ", which does not exist"));
  }
  TextFile base = read_text_file(root / base_path, base_path.filename().string());
  return DerivedPair{std::move(*header), std::move(base), std::move(derived)};
}

std::vector<DerivedPair> derived_pairs_of_chapter(const fs::path& root, const std::string& chapter) {
  const fs::path folder = find_chapter(root, chapter) / "programs";
  std::vector<fs::path> paths;
  if (fs::exists(root / folder)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(root / folder)) {
      if (entry.is_regular_file()) paths.push_back(folder / entry.path().filename());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<DerivedPair> pairs;
  for (const fs::path& path : paths) {
    if (std::optional<DerivedPair> pair = load_derived_pair(root, path)) pairs.push_back(std::move(*pair));
  }
  return pairs;
}

}  // namespace lockstep::course
