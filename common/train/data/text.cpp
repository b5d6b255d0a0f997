#include "data/text.hpp"

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/foreign_file.hpp"
#include "base/sha256.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCourseTextName = "course_text_v2.txt";
constexpr const char* kCourseTextVariable = "LOCKSTEP_COURSE_TEXT";

fs::path checksum_path(const fs::path& path) { return path.string() + ".sha256"; }

fs::path folder_of_program() {
  std::error_code ignored;  // without /proc, the other places remain
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::string read_whole(const fs::path& path) {
  if (fs::is_directory(path)) throw IoError(concat("the text ", path.string(), " is a folder; name a file"));
  std::string text = read_file(path);
  if (text.empty()) throw FormatError(concat("the text ", path.string(), " is empty"));
  const auto foreign = explain_foreign_file(text, path.string());
  if (foreign && foreign->kind != ForeignKind::kHtml)  // a model may learn from HTML
    throw FormatError(concat("the text ", path.string(), " ", foreign->explanation));
  return text;
}

}  // namespace

std::vector<std::int32_t> encode_bytes(std::string_view text) {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::string decode_bytes(std::span<const std::int32_t> ids) {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    require(id >= 0 && id < kByteVocabularySize, "token ", id, " is not a byte");
    text += static_cast<char>(id);
  }
  return text;
}

TextParts split_text(std::string_view text, const std::string& name) {
  if (text.size() < 2) throw FormatError(concat(name, ": ", text.size(), " bytes are too few to split"));
  const std::size_t validation_bytes = (text.size() + 9) / 10;  // a tenth, rounded up so that it is never empty
  const std::size_t training_bytes = text.size() - validation_bytes;
  return {.training = text.substr(0, training_bytes), .validation = text.substr(training_bytes)};
}

std::string read_text(const fs::path& path) {
  if (!path.empty()) return read_whole(path);
  const fs::path course_text = find_course_text();
  const bool is_users_own = environment::get(kCourseTextVariable) && !fs::exists(checksum_path(course_text));
  if (!is_users_own) verify_checksum(course_text);
  return read_whole(course_text);
}

fs::path find_course_text() {
  if (const auto named = environment::get(kCourseTextVariable)) return *named;
  const fs::path beside_program = folder_of_program() / kCourseTextName;
  const fs::path in_source = fs::path(LOCKSTEP_DATA_DIR) / kCourseTextName;
  for (const fs::path& place : {beside_program, in_source})
    if (fs::exists(place)) return place;
  throw IoError(concat("the course text is neither ", beside_program.string(), " nor ", in_source.string(),
                       "; name it in ", kCourseTextVariable, " or train on a file of your own with --data"));
}

void verify_checksum(const fs::path& path) {
  const std::string line = read_file(checksum_path(path));
  const std::string expected = line.substr(0, line.find_first_of(" \n"));
  const std::string found = sha256_hex(read_file(path));
  if (found != expected)
    throw FormatError(concat(path.string(), " has SHA-256 ", found, ", but ", checksum_path(path).string(), " says ",
                             expected, "; restore the file, or train on your own with --data"));
}

}  // namespace lockstep::data
