#include "release/release_note.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string this_system() {
  std::istringstream lines(read_file("/etc/os-release"));
  std::map<std::string, std::string> entries;
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, '"');
    entries[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  utsname kernel{};
  ::uname(&kernel);
  return concat(entries["ID"], " ", entries["VERSION_ID"], " ", kernel.machine);
}

std::string to_text(const ReleaseNote& note) {
  return concat("class: ", note.name, "\nrelease: ", note.tag(), "\ncommit: ", note.commit, "\ndate: ", note.date,
                "\nsystem: ", note.system, "\nkey: ", note.key, "\n");
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
    throw UsageError(concat("\"", name, "\" is no name of a class: letters, digits, - and _, such as ppc-2026"));
}

}  // namespace lockstep::release
