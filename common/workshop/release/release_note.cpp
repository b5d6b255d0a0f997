#include "release/release_note.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

using Entries = std::map<std::string, std::string>;

// Lines "name, separator, value".
Entries read_entries(const std::string& text, const std::string& separator) {
  std::istringstream lines(text);
  Entries entries;
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t end = line.find(separator); end != std::string::npos)
      entries[line.substr(0, end)] = line.substr(end + separator.size());
  return entries;
}

// The number after the last dot of a release's tag; 0: it has none.
std::optional<int> correction_of(const std::string& tag, const std::string& name) {
  const std::string first = "release-" + name;
  if (tag == first) return 0;
  if (!tag.starts_with(first + ".")) return std::nullopt;
  const std::string digits = tag.substr(first.size() + 1);
  const bool is_number = !digits.empty() && digits.size() < 6 && digits.front() != '0' &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::optional(std::stoi(digits)) : std::nullopt;
}

}  // namespace

std::string this_system() {
  std::string text = read_file("/etc/os-release");
  std::erase(text, '"');
  Entries entries = read_entries(text, "=");
  utsname kernel{};
  ::uname(&kernel);
  return concat(entries["ID"], " ", entries["VERSION_ID"], " ", kernel.machine);
}

std::string to_text(const ReleaseNote& note) {
  return concat("class: ", note.name, "\nrelease: ", note.tag(), "\ncommit: ", note.commit, "\ndate: ", note.date,
                "\nsystem: ", note.system, "\nexercises: ", note.exercises, "\nkey: ", note.key, "\n");
}

ReleaseNote parse_release_note(const std::string& text) {
  Entries entries = read_entries(text, ": ");
  ReleaseNote note{.name = entries["class"],
                   .commit = entries["commit"],
                   .date = entries["date"],
                   .system = entries["system"],
                   .key = entries["key"],
                   .exercises = entries["exercises"]};
  const auto correction = correction_of(entries["release"], note.name);
  if (note.name.empty() || note.commit.empty() || note.key.empty() || !correction)
    throw UsageError("the file RELEASE is not one that ./lockstep release has written");
  note.correction = *correction;
  return note;
}

std::string read_or_make_secret(const fs::path& file) {
  if (!fs::exists(file)) {
    std::array<std::uint8_t, 32> bytes{};
    if (::getentropy(bytes.data(), bytes.size()) != 0) throw Error("the system has no random numbers");
    write_file(file, "");
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    write_file(file, hex_digits(bytes) + "\n");
  }
  std::string secret = read_file(file);
  while (secret.ends_with('\n')) secret.pop_back();
  if (secret.empty()) throw FormatError(concat(file.string(), " is empty; it should hold a secret"));
  return secret;
}

std::string key_of(const std::string& secret, const std::string& name, const std::string& commit) {
  return hex_digits(hmac_sha256(secret, concat(name, "\n", commit))).substr(0, 32);
}

void require_class_name(const std::string& name) {
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  const bool is_tag = !name.empty() && name.front() != '.' && name.front() != '-' &&
                      name.find("..") == std::string::npos && !name.ends_with('.') && !name.ends_with(".lock");
  if (!is_tag || !std::ranges::all_of(name, is_allowed))
    throw UsageError(concat("\"", name, "\" is not the name of a class: letters, digits, - and _, such as ppc-2026"));
}

}  // namespace lockstep::release
