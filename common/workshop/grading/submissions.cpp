#include "grading/submissions.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/plain_text.hpp"
#include "base/sha256.hpp"
#include "grading/archive.hpp"
#include "grading/class_download.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

// Digest of a submission: its archive's bytes, or names and bytes of its files. Where a folder is does not matter.
std::string content_digest(const fs::path& path) {
  constexpr std::uint64_t kMost = 64 << 20, kMostOfFile = 1 << 20;  // larger ones are refused
  if (!fs::is_directory(path)) return fs::file_size(path) > kMost ? "too large" : sha256_hex(read_file(path));
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(path), end; it != end && files.size() <= ArchiveLimits{}.files; ++it) {
    const fs::file_status status = it->symlink_status();  // a link may lead to itself
    if (fs::is_directory(status) && is_left_out(it->path(), it.depth())) it.disable_recursion_pending();
    if (fs::is_regular_file(status)) files.push_back(it->path());
  }
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files) {
    const std::uintmax_t bytes = fs::file_size(file);
    text += concat(file.lexically_relative(path).string(), " ",
                   bytes > kMostOfFile ? "too large" : sha256_hex(read_file(file)), "\n");
  }
  return sha256_hex(text);
}

// A submission that cannot be read (a folder without rights, a disk with errors) is retried in every grading.
std::string basis_of(const Task& task, const std::string& settings_text) {
  try {
    std::string text = settings_text + content_digest(task.submission);
    if (task.origin) text += concat("\n", task.origin->student);
    for (const std::string& note : task.notes) text += concat("\n", note);
    return sha256_hex(text);
  } catch (const std::exception&) {
    return "cannot be read";  // the process that grades it reports the reason
  }
}

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
}

// A name that is valid in every path and no option of a program. Letters of all languages stay: the names of two
// students in Chinese would otherwise be the same. Names in a zip may be longer than those of files.
std::string key_of(const ReceivedEntry& entry) {
  constexpr std::size_t kMost = 150;  // with signs after it, to tell two apart
  std::string name = entry.is_folder ? entry.name : fs::path(entry.name).stem().string();
  if (name.ends_with(".tar") || name.ends_with(".TAR")) name.erase(name.size() - 4);
  std::string key = plain_text(name, kMost, LineBreaks::kReplace);
  std::ranges::replace_if(
      key,
      [](char letter) {
        const bool is_ascii = static_cast<unsigned char>(letter) < 0x80;
        return is_ascii && !is_letter_or_digit(letter) && letter != '_' && letter != '-' && letter != '.';
      },
      '_');
  return key.starts_with('.') || key.starts_with('-') ? "_" + key : key;
}

// A file that a student has handed in on Moodle or Canvas.
struct Upload {
  DownloadName name;
  ReceivedFile file;
};

// Everything that one of them has handed in there.
struct Student {
  std::vector<Upload> uploads;
  std::vector<ReceivedEntry> folders;  // without an archive in them
};

// "submission.zip" of "submission-1.zip", Canvas' name for one that was handed in again.
std::string first_name(const std::string& file) {
  static const std::regex kAgain("-[0-9]+([.][^.]*)$");
  return std::regex_replace(file, kAgain, "$1");
}

// False if the names cannot be Canvas', or an instructor has more likely chosen them: "week_1_2_anna.zip" and
// "week_1_2_bob.zip" (Canvas gives each file of a student a number), or "lab_1_1204627_anna.zip" and
// "lab_1_1204628_bob.zip" (everybody would be the student 1).
bool may_be_from_canvas(const std::vector<ReceivedEntry>& entries) {
  std::set<std::string> files, students, archives;
  for (const ReceivedEntry& entry : entries) {
    const auto name = canvas_name(entry.name);
    if (!name || entry.is_folder) continue;
    if (!files.insert(concat(name->key(), " ", name->upload)).second) return false;
    students.insert(name->key());
    if (is_archive_name(name->file)) archives.insert(first_name(name->file));
  }
  return students.size() > 1 || archives.size() <= 1;
}

// The file of a folder that is not an archive, as an archive: numbers name it on the disk, and its name is in it.
fs::path packed(const ReceivedEntry& folder, const fs::path& zip) {
  constexpr std::uintmax_t kMostOfFile = (1 << 20) + 1;  // more is refused
  constexpr std::size_t kMostFiles = ArchiveLimits{}.files + 1;
  Files files;
  std::uintmax_t bytes = 0;  // once there are too many, the zip unpacks to too much, and is refused
  for (const ReceivedFile& one : folder.files) {
    const std::uintmax_t of_file = fs::file_size(one.path);
    if (files.size() >= kMostFiles || bytes > ArchiveLimits{}.bytes_in_all || of_file > kMostOfFile) continue;
    files[one.name] = read_file(one.path);
    bytes += of_file;
  }
  write_zip(zip, files);
  return zip;
}

// The place of the upload that counts: the latest archive, otherwise submission.zip, otherwise the first one.
std::size_t chosen_upload(const std::vector<Upload>& uploads) {
  const auto rank = [](const Upload& one) {
    return std::tuple(is_archive_name(one.file.name), one.name.upload.size(), one.name.upload,
                      one.file.name == "submission.zip");
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < uploads.size(); ++i)
    if (rank(uploads[i]) > rank(uploads[best])) best = i;
  return best;
}

std::string shown_name(const std::string& name) { return plain_text(name, 120, LineBreaks::kReplace); }

std::vector<std::string> notes_on(const Student& student, std::size_t chosen) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> notes;
  const Upload& upload = student.uploads[chosen];
  if (upload.name.is_late) notes.emplace_back("late, says Canvas");
  if (student.uploads.size() > 1) notes.push_back(concat("more than one file; graded: ", shown_name(upload.file.name)));
  for (std::size_t i = 0; i < student.uploads.size() && notes.size() < kMost; ++i) {
    if (i != chosen) notes.push_back(concat("not graded: ", shown_name(student.uploads[i].file.name)));
    if (comparable_name(student.uploads[i].name.student) != comparable_name(upload.name.student))
      notes.push_back(concat("the same number, but another name: ", student.uploads[i].name.student));
  }
  return notes;
}

// Collects the submissions of a class, by key.
class Collection {
 public:
  Collection(const fs::path& unpacked, bool takes_canvas, std::vector<std::string>& ignored)
      : unpacked_(unpacked), takes_canvas_(takes_canvas), ignored_(ignored) {}

  void add(const ReceivedEntry& entry) {
    if (const auto name = moodle_name(entry.name)) return add_from_moodle(entry, *name);
    if (const auto name = canvas_name(entry.name); name && takes_canvas_ && !entry.is_folder)
      return add_upload({*name, {name->file, entry.path}});
    if (!entry.is_folder && !is_archive_name(entry.name)) return ignored_.push_back(entry.name);
    add_task({.submission = place_of(entry), .key = key_of(entry)});
  }

  std::vector<Task> tasks() {
    for (Task& task : tasks_)
      if (task.origin) complete(task, students_.at(task.origin->key()));
    return std::move(tasks_);
  }

 private:
  void add_task(Task task) {
    while (!keys_.insert(task.key).second) task.key += "_";
    tasks_.push_back(std::move(task));
  }

  void add_from_moodle(const ReceivedEntry& entry, const DownloadName& name) {
    if (name.kind != "file") return ignored_.push_back(entry.name);
    if (!entry.is_folder) return add_upload({name, {name.file, entry.path}});
    bool has_archive = false;
    for (const ReceivedFile& file : entry.files) {
      const bool is_archive = is_archive_name(file.name) && file.name.find('/') == std::string::npos;
      if (is_archive) add_upload({name, file});
      has_archive = has_archive || is_archive;
    }
    if (!has_archive) student_of(name).folders.push_back(entry);
  }

  void add_upload(Upload upload) { student_of(upload.name).uploads.push_back(std::move(upload)); }

  Student& student_of(const DownloadName& name) {
    const auto [student, is_new] = students_.try_emplace(name.key());
    if (is_new) {
      add_task({.key = name.key(), .origin = name});
    }
    return student->second;
  }

  void complete(Task& task, Student& student) {
    if (student.uploads.empty()) {
      task.submission = place_of(student.folders.front());
      task.notes.emplace_back("no archive was handed in");
      return;
    }
    const std::size_t chosen = chosen_upload(student.uploads);
    task.submission = student.uploads[chosen].file.path;
    task.origin = student.uploads[chosen].name;
    task.notes = notes_on(student, chosen);
    if (!is_archive_name(student.uploads[chosen].file.name))
      task.notes.push_back(concat("not an archive: ", shown_name(student.uploads[chosen].file.name)));
  }

  fs::path place_of(const ReceivedEntry& entry) {
    if (!entry.path.empty()) return entry.path;
    return packed(entry, unpacked_ / concat("folder_", ++packed_, ".zip"));
  }

  const fs::path& unpacked_;
  bool takes_canvas_;
  std::vector<std::string>& ignored_;
  std::vector<Task> tasks_;
  std::set<std::string> keys_;
  std::map<std::string, Student> students_;
  int packed_ = 0;
};

}  // namespace

std::vector<Task> find_submissions(const fs::path& source, const std::string& settings_text, const fs::path& unpacked,
                                   std::vector<std::string>& ignored) {
  const std::vector<ReceivedEntry> entries =
      fs::is_directory(source) ? entries_of_folder(source, ignored) : entries_of_zip(source, unpacked, ignored);
  Collection collection(unpacked, may_be_from_canvas(entries), ignored);
  for (const ReceivedEntry& entry : entries) collection.add(entry);
  std::vector<Task> tasks = collection.tasks();
  for (Task& task : tasks) task.basis = basis_of(task, settings_text);
  return tasks;
}

}  // namespace lockstep::grading
