#pragma once
/// @file
/// The file RELEASE of a student's repository, and the secret that a lecturer keeps.
#include <filesystem>
#include <string>

namespace lockstep::release {

/// What RELEASE says.
struct ReleaseNote {
  std::string name;    ///< Of the class: "ppc-2026".
  std::string commit;  ///< Of the course, in full.
  std::string date;    ///< "2026-11-23"
  std::string system;  ///< That its objects were compiled on: "debian 12 x86_64".
  std::string key;     ///< 32 hexadecimal digits; only the secret's owner can make it.

  /// "release-ppc-2026": the tag, which a submission's manifest names.
  [[nodiscard]] std::string tag() const { return "release-" + name; }
};

/// This machine's distribution, its version and the processor's architecture, as RELEASE names them.
[[nodiscard]] std::string this_system();

/// One line per entry: `release: release-ppc-2026`.
[[nodiscard]] std::string to_text(const ReleaseNote& note);

/// The secret in a file; a new one is made, and readable by its owner alone, where there is no such file.
/// @throws IoError
[[nodiscard]] std::string read_or_make_secret(const std::filesystem::path& file);

/// HMAC-SHA256 of the class and the commit, its first 16 bytes in hexadecimal digits.
[[nodiscard]] std::string key_of(const std::string& secret, const std::string& name, const std::string& commit);

/// Letters, digits, '-', '_' and '.': what a tag may hold. @throws UsageError  It is another name.
void require_class_name(const std::string& name);

}  // namespace lockstep::release
