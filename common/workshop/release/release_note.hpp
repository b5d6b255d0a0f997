#pragma once
/// @file
/// The file RELEASE of a student's repository, and the secret that the lecturer keeps.
#include <filesystem>
#include <string>

namespace lockstep::release {

/// The contents of RELEASE.
struct ReleaseNote {
  std::string name;               ///< Name of the class: "ppc-2026".
  std::string commit;             ///< The course's full commit hash.
  std::string date;               ///< "2026-11-23"
  std::string system;             ///< The system that compiled its objects: "debian 12 x86_64".
  std::string key;                ///< 32 hexadecimal digits; only the secret's owner can compute it.
  std::string exercises = "all";  ///< Or those chosen: "00 01 02.1". Empty: an older release does not say.
  int correction = 0;             ///< How many corrections it has had.

  /// The tag, "release-ppc-2026", after corrections "release-ppc-2026.1"; a submission's manifest names it.
  [[nodiscard]] std::string tag() const {
    return "release-" + name + (correction > 0 ? "." + std::to_string(correction) : "");
  }
};

/// This machine's distribution, its version and the processor's architecture, as RELEASE names them.
[[nodiscard]] std::string this_system();

/// One line per entry: `release: release-ppc-2026`.
[[nodiscard]] std::string to_text(const ReleaseNote& note);

/// The note with this text. @throws UsageError  It is not one that to_text() has written.
[[nodiscard]] ReleaseNote parse_release_note(const std::string& text);

/// Reads the secret from a file; if there is none, makes a secret and a file that only its owner can read.
/// @throws IoError
[[nodiscard]] std::string read_or_make_secret(const std::filesystem::path& file);

/// The first 16 bytes of HMAC-SHA256(secret; class and commit), in hexadecimal.
[[nodiscard]] std::string key_of(const std::string& secret, const std::string& name, const std::string& commit);

/// A tag may contain letters, digits, '-', '_' and '.'. @throws UsageError  Any other name.
void require_class_name(const std::string& name);

}  // namespace lockstep::release
