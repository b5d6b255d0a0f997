#include "checkpoint/manifest.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/file.hpp"
#include "base/foreign_file.hpp"
#include "base/json.hpp"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::string_view kFormat = "lockstep checkpoint 1";
constexpr std::size_t kHashDigits = 16;

bool is_hash(const json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

FileEntry entry_from(const std::string& name, const json& value, const fs::path& path) {
  const bool is_entry = is_plain_file_name(name) && value.is_object() && value.contains("bytes") &&
                        value["bytes"].is_number_unsigned() && value.contains("xxh3") && is_hash(value["xxh3"]);
  if (!is_entry)
    throw FormatError(concat(path.string(), ": the entry of ", name, " is not a file name with bytes and xxh3"));
  return {.name = name, .bytes = value["bytes"].get<std::uint64_t>(), .xxh3 = value["xxh3"].get<std::string>()};
}

}  // namespace

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

json parse_json(std::string_view text, const fs::path& path) {
  const auto limit_depth = [&path](int depth, json::parse_event_t /*event*/, json& /*value*/) {
    if (depth > kMaxJsonDepth) throw FormatError(concat(path.string(), ": nested deeper than ", kMaxJsonDepth));
    return true;
  };
  try {
    return json::parse(text, limit_depth);
  } catch (const json::exception& error) {
    if (const auto foreign = explain_foreign_file(text, path.filename().string()))
      throw FormatError(concat(path.string(), " ", foreign->explanation));
    throw FormatError(concat(path.string(), ": not JSON: ", error.what()));
  }
}

void Checksum::Free::operator()(XXH3_state_s* state) const noexcept { XXH3_freeState(state); }

Checksum::Checksum() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw Error("out of memory for a checksum");
  XXH3_64bits_reset(state_.get());
}

void Checksum::add(std::string_view bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  bytes_ += bytes.size();
}

std::string Checksum::text() const {
  std::ostringstream hex;
  hex << std::hex << std::setfill('0') << std::setw(kHashDigits) << XXH3_64bits_digest(state_.get());
  return std::move(hex).str();
}

FileWriter::FileWriter(fs::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!fd_.is_open()) throw IoError("creating " + path_.string(), errno);
}

void FileWriter::write(std::string_view bytes) {
  checksum_.add(bytes);
  if (fault::take(fault::Kind::kDiskFull)) throw IoError(concat("writing ", path_.string()), ENOSPC);
  write_all(fd_.get(), bytes, path_);
}

FileEntry FileWriter::finish() {
  while (::fsync(fd_.get()) != 0)
    if (errno != EINTR) throw IoError("fsync of " + path_.string(), errno);
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);  // does nothing on a file system in memory
  fd_.reset();
  return {.name = path_.filename().string(), .bytes = checksum_.bytes(), .xxh3 = checksum_.text()};
}

FileEntry describe_file(const fs::path& path) {
  Checksum checksum;
  read_in_pieces(path, [&checksum](std::string_view piece) { checksum.add(piece); });
  return {.name = path.filename().string(), .bytes = checksum.bytes(), .xxh3 = checksum.text()};
}

std::string to_text(const Manifest& manifest) {
  json files = json::object();
  for (const FileEntry& file : manifest.files) files[file.name] = {{"bytes", file.bytes}, {"xxh3", file.xxh3}};
  return dump_json(json{{"format", kFormat}, {"step", manifest.step}, {"files", files}}, 2) + "\n";
}

Manifest parse_manifest(std::string_view text, const fs::path& path) {
  const json content = parse_json(text, path);
  if (!content.is_object() || !content.contains("format") || content["format"] != kFormat)
    throw FormatError(concat(path.string(), ": not the manifest of a \"", kFormat, "\""));
  Manifest manifest;
  if (!content.contains("step") || !content["step"].is_number_unsigned() || content["step"] > INT64_MAX)
    throw FormatError(concat(path.string(), ": does not say of which step it is"));
  manifest.step = content["step"].get<std::int64_t>();
  const json files = content.contains("files") ? content["files"] : json::object();
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile})
    if (!files.is_object() || !files.contains(name)) throw FormatError(concat(path.string(), ": does not list ", name));
  for (const auto& [name, value] : files.items()) manifest.files.push_back(entry_from(name, value, path));
  return manifest;
}

}  // namespace lockstep::checkpoint
