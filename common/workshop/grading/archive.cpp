#include "grading/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/plain_text.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

struct FreeReader {
  void operator()(::archive* one) const noexcept { ::archive_read_free(one); }
};
struct FreeWriter {
  void operator()(::archive* one) const noexcept { ::archive_write_free(one); }
};
struct FreeEntry {
  void operator()(::archive_entry* one) const noexcept { ::archive_entry_free(one); }
};
using Reader = std::unique_ptr<::archive, FreeReader>;
using Writer = std::unique_ptr<::archive, FreeWriter>;
using Entry = std::unique_ptr<::archive_entry, FreeEntry>;

std::string error_of(::archive* one) {
  const char* const text = ::archive_error_string(one);
  return text == nullptr ? "unknown error" : text;
}

// For messages: a name chosen by someone else must neither control a terminal nor fill a page.
std::string printable(const std::string& name) { return plain_text(name, 120, LineBreaks::kReplace); }

bool leaves_its_folder(const fs::path& path) {
  return path.is_absolute() || std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
}

[[noreturn]] void throw_too_many(const fs::path& source, const ArchiveLimits& limits) {
  throw FormatError(concat(source.filename().string(), " has more than ", limits.files, " entries"));
}

// Decides on each entry by its path, and counts what it has seen.
class Selection {
 public:
  Selection(const std::function<bool(const std::string&)>& is_wanted, const ArchiveLimits& limits)
      : is_wanted_(is_wanted), limits_(limits) {}

  // Beyond the limit nothing is known about the rest: a submission that is cut there must not look like an empty one.
  void count_one(const fs::path& source) {
    if (++seen_ > limits_.files) throw_too_many(source, limits_);
  }

  void refuse(const std::string& why, const std::string& name) {
    constexpr std::size_t kMost = 20;
    if (found_.refusals.size() < kMost) found_.refusals.push_back(concat(why, ": ", printable(name)));
  }

  void pass_by(const std::string& name) {
    constexpr std::size_t kMost = 5;
    const std::string file = name.substr(name.rfind('/') + 1);
    if (name.starts_with("__MACOSX/") || file.starts_with("._") || file == ".DS_Store") return;  // Apple's
    found_.others.insert(printable(name));
    if (found_.others.size() > kMost) found_.others.erase(std::prev(found_.others.end()));
  }

  // The name of a wanted entry, without a folder around everything; empty: not wanted.
  [[nodiscard]] std::string wanted_name(const std::string& name) const {
    const fs::path path = fs::path(name).lexically_normal();
    if (is_wanted_(path.string())) return path.string();
    if (path.empty()) return "";
    const std::string inner = path.lexically_relative(*path.begin()).string();
    return is_wanted_(inner) ? inner : "";
  }

  // Reads a wanted entry.
  void take(const std::string& name, std::uint64_t bytes, const std::function<std::string(std::size_t most)>& read) {
    if (found_.files.contains(name)) return refuse("there twice", name);
    if (bytes > limits_.bytes_per_file) return refuse(concat("more than ", limits_.bytes_per_file, " bytes"), name);
    std::string text = read(static_cast<std::size_t>(limits_.bytes_per_file) + 1);
    if (text.size() > limits_.bytes_per_file)
      return refuse(concat("more than ", limits_.bytes_per_file, " bytes"), name);
    found_.files.emplace(name, std::move(text));
  }

  Submission found() { return std::move(found_); }

 private:
  const std::function<bool(const std::string&)>& is_wanted_;
  const ArchiveLimits& limits_;
  Submission found_;
  std::size_t seen_ = 0;
};

// Unpacked size of an unwanted entry, measured up to a little more than `most`: libarchive would unpack all of it.
std::uint64_t unpack_in_vain(::archive* reader, std::uint64_t most) {
  std::uint64_t bytes = 0;
  const void* piece = nullptr;
  std::size_t count = 0;
  la_int64_t place = 0;
  while (bytes <= most) {
    const int status = ::archive_read_data_block(reader, &piece, &count, &place);
    if (status < ARCHIVE_FAILED) throw FormatError(concat("damaged: ", error_of(reader)));
    if (status == ARCHIVE_EOF || status < ARCHIVE_WARN) break;  // the latter: encrypted, for example
    bytes = std::max(bytes + count, static_cast<std::uint64_t>(std::max<la_int64_t>(place, 0)));
  }
  return bytes;
}

std::string read_entry(::archive* reader, std::size_t most) {
  std::string text;
  char piece[16384];
  while (text.size() < most) {
    const la_ssize_t count = ::archive_read_data(reader, piece, sizeof piece);
    if (count < 0) throw FormatError(concat("damaged: ", error_of(reader)));
    if (count == 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

// While it lives, libarchive takes names for UTF-8, as programs write them today. In the locale "C", in which this
// program runs, libarchive gives no names with letters outside of ASCII.
class Utf8Names {
 public:
  Utf8Names() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;
  ~Utf8Names() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }

 private:
  ::locale_t locale_;
  ::locale_t before_ = nullptr;
};

Reader open_archive(const fs::path& path) {
  Reader reader(::archive_read_new());
  ::archive_read_support_format_zip(reader.get());
  ::archive_read_support_format_tar(reader.get());
  ::archive_read_support_filter_gzip(reader.get());
  if (::archive_read_open_filename(reader.get(), path.c_str(), 64 << 10) != ARCHIVE_OK)
    throw FormatError(concat(path.filename().string(), " is not an archive: ", error_of(reader.get())));
  return reader;
}

std::string name_of(::archive_entry* entry) {
  const char* name = ::archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = ::archive_entry_pathname(entry);  // not UTF-8
  return name == nullptr ? "" : name;
}

// Why an entry is not taken, whatever it is called; empty: no reason.
std::string reason_to_refuse(::archive_entry* entry, const std::string& name) {
  if (name.empty() || leaves_its_folder(name)) return "a path outside of the archive";
  const auto type = ::archive_entry_filetype(entry);
  return ::archive_entry_hardlink(entry) != nullptr || (type != AE_IFREG && type != AE_IFDIR) ? "no regular file" : "";
}

Submission read_archive(const fs::path& path, Selection selection, const ArchiveLimits& limits) {
  if (fs::file_size(path) > limits.bytes_per_entry) throw FormatError("the archive is too large");
  const Utf8Names utf8;
  const Reader reader = open_archive(path);
  ::archive_entry* entry = nullptr;
  std::uint64_t unpacked = 0;
  while (true) {
    const int status = ::archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) return selection.found();
    if (status < ARCHIVE_WARN)
      throw FormatError(concat(path.filename().string(), " is damaged: ", error_of(reader.get())));
    selection.count_one(path);
    if (::archive_entry_size_is_set(entry) != 0 &&
        ::archive_entry_size(entry) > static_cast<la_int64_t>(limits.bytes_per_entry))
      throw FormatError(concat(path.filename().string(), " unpacks to too much"));
    const std::string name = name_of(entry);
    if (const std::string why = reason_to_refuse(entry, name); !why.empty()) {
      selection.refuse(why, name);
    } else if (::archive_entry_filetype(entry) != AE_IFREG) {
      // a folder: its files have entries of their own
    } else if (const std::string wanted = selection.wanted_name(name); wanted.empty()) {
      selection.pass_by(name);
    } else {
      const auto bytes = ::archive_entry_size_is_set(entry) != 0 ? ::archive_entry_size(entry) : 0;
      selection.take(wanted, static_cast<std::uint64_t>(std::max<la_int64_t>(bytes, 0)),
                     [&](std::size_t most) { return read_entry(reader.get(), most); });
    }
    const std::uint64_t rest = unpack_in_vain(reader.get(), limits.bytes_per_entry);
    if (rest > limits.bytes_per_entry) throw FormatError(concat(path.filename().string(), " unpacks to too much"));
    unpacked += rest;
    if (unpacked > limits.bytes_in_all) throw FormatError(concat(path.filename().string(), " unpacks to too much"));
  }
}

// Does not follow links and reads only regular files, even if the file is replaced meanwhile.
std::string read_regular_file(const fs::path& path, std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw IoError(concat("cannot read ", path.string()), errno);
  std::string text;
  char piece[16384];
  while (text.size() < most) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(concat("cannot read ", path.string()), errno);
    if (count == 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

Submission read_folder(const fs::path& folder, Selection selection) {
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::none), end; it != end; ++it) {
    selection.count_one(folder);
    const std::string name = it->path().lexically_relative(folder).string();
    const fs::file_status status = it->symlink_status();
    if (fs::is_directory(status)) {
      if (is_left_out(it->path(), it.depth())) it.disable_recursion_pending();
    } else if (!fs::is_regular_file(status)) {
      selection.refuse("no regular file", name);
    } else if (const std::string wanted = selection.wanted_name(name); wanted.empty()) {
      selection.pass_by(name);
    } else {
      selection.take(wanted, fs::file_size(it->path()),
                     [&](std::size_t most) { return read_regular_file(it->path(), most); });
    }
  }
  return selection.found();
}

// @param shown  The path that an error names.
void write_zip_in_place(const fs::path& path, const fs::path& shown, const Files& files) {
  const Utf8Names utf8;
  const Writer writer(::archive_write_new());
  ::archive_write_set_format_zip(writer.get());
  const auto demand = [&](int status) {
    if (status != ARCHIVE_OK) throw IoError(concat("cannot write ", shown.string(), ": ", error_of(writer.get())), 0);
  };
  demand(::archive_write_open_filename(writer.get(), path.c_str()));
  for (const auto& [name, text] : files) {
    const Entry entry(::archive_entry_new());
    ::archive_entry_set_pathname(entry.get(), name.c_str());
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0644);
    ::archive_entry_set_mtime(entry.get(), 315532800, 0);  // 1980, the first year of zip's calendar
    demand(::archive_write_header(writer.get(), entry.get()));
    if (::archive_write_data(writer.get(), text.data(), text.size()) != static_cast<la_ssize_t>(text.size()))
      demand(ARCHIVE_FATAL);
  }
  demand(::archive_write_close(writer.get()));
}

}  // namespace

bool is_left_out(const fs::path& folder, int depth) {
  return folder.filename() == ".git" || (folder.filename() == "build" && depth <= 1);
}

void write_zip(const fs::path& path, const Files& files) {
  const fs::file_status before = fs::symlink_status(path);
  if (fs::exists(before) && !fs::is_regular_file(before)) {  // a link, or something like /dev/stdout
    write_zip_in_place(path, path, files);
    return;
  }
  const fs::path unfinished = path.string() + ".new";
  try {
    write_zip_in_place(unfinished, path, files);
    fs::rename(unfinished, path);
  } catch (const std::exception&) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
}

Submission read_submission(const fs::path& path, const std::function<bool(const std::string&)>& is_wanted,
                           const ArchiveLimits& limits) {
  const Selection selection(is_wanted, limits);
  return fs::is_directory(path) ? read_folder(path, selection) : read_archive(path, selection, limits);
}

Unpacked unpack_under_numbers(const fs::path& archive, const fs::path& folder, const ArchiveLimits& limits) {
  const Utf8Names utf8;
  const Reader reader = open_archive(archive);
  Unpacked unpacked;
  ::archive_entry* entry = nullptr;
  for (std::size_t count = 1;; ++count) {
    const int status = ::archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) return unpacked;
    if (status < ARCHIVE_WARN)
      throw FormatError(concat(archive.filename().string(), " is damaged: ", error_of(reader.get())));
    if (count > limits.files) throw_too_many(archive, limits);
    const std::string name = name_of(entry);
    const std::string why = reason_to_refuse(entry, name);
    if (!why.empty()) unpacked.refusals.push_back(concat(why, ": ", printable(name)));
    if (!why.empty() || ::archive_entry_filetype(entry) != AE_IFREG) continue;
    const fs::path place = folder / concat(count, ".zip");
    write_file(place, read_entry(reader.get(), static_cast<std::size_t>(limits.bytes_per_entry) + 1));
    unpacked.files.emplace_back(fs::path(name).lexically_normal().string(), place);
  }
}

}  // namespace lockstep::grading
