#include "base/foreign_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.hpp"

namespace lockstep {

namespace {

using namespace std::string_view_literals;

struct Compression {
  std::string_view magic, name, command;
};
constexpr std::array kCompressions = {
    Compression{"\x1F\x8B\x08"sv, "gzip", "gunzip"}, Compression{"BZh"sv, "bzip2", "bunzip2"},
    Compression{"\xFD\x37zXZ\0"sv, "xz", "unxz"}, Compression{"\x28\xB5\x2F\xFD"sv, "zstd", "unzstd"}};

bool begins_with_html(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string lower(text.substr(0, 16));
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.starts_with("<!doctype html") || lower.starts_with("<html");
}

// Without a byte order mark: in text that is mostly ASCII every other byte is 0.
const char* utf16_by_zeros(std::string_view text) {
  constexpr std::size_t kFewest = 16;
  if (text.size() < kFewest) return nullptr;
  std::array<std::size_t, 2> zeros{};  // at even offsets, at odd ones
  for (std::size_t i = 0; i < text.size(); ++i) zeros[i % 2] += text[i] == '\0' ? 1 : 0;
  const std::size_t many = text.size() / 2 * 7 / 10, few = text.size() / 2 / 50;
  if (zeros[1] >= many && zeros[0] <= few) return "UTF-16LE";
  return zeros[0] >= many && zeros[1] <= few ? "UTF-16BE" : nullptr;
}

const char* wide_encoding(std::string_view text) {
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return utf16_by_zeros(text);
}

}  // namespace

std::optional<ForeignFile> explain_foreign_file(std::string_view beginning, const std::string& file) {
  const std::string_view text = beginning.substr(0, kForeignBytes);
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    return ForeignFile{ForeignKind::kLfsPointer,
                       "is a Git LFS pointer, three lines in place of the file: fetch the file with 'git lfs pull' in "
                       "its repository"};
  }
  if (begins_with_html(text)) {
    return ForeignFile{ForeignKind::kHtml,
                       "is an HTML page, probably an error or login page in place of the file: download it again"};
  }
  if (text.starts_with("PK\x03\x04")) {
    return ForeignFile{ForeignKind::kZip, "is a zip archive (torch.save() writes such files, too): unpack it first"};
  }
  for (const Compression& known : kCompressions) {
    if (!text.starts_with(known.magic)) continue;
    return ForeignFile{ForeignKind::kCompressed,
                       concat("is compressed with ", known.name, ": unpack it first (", known.command, " ", file, ")")};
  }
  if (const char* const encoding = wide_encoding(text)) {
    return ForeignFile{ForeignKind::kUtf16, concat("is a text in ", encoding, ": make it UTF-8 first (iconv -f ",
                                                   encoding, " -t UTF-8 ", file, " > NEW)")};
  }
  return std::nullopt;
}

}  // namespace lockstep
