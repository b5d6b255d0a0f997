#pragma once
/// @file
/// Fetching a well-known public text with the `curl` program.
#include <filesystem>
#include <string>

namespace lockstep::data {

/// A file to fetch, and its checksum.
struct FetchSource {
  std::string url;
  std::string sha256;            ///< Of the file, 64 hexadecimal digits.
  std::string program = "curl";  ///< Called as: program --fail --location ... --output FILE URL.
  int time_limit_s = 120;        ///< For the whole transfer.
};

/// The tiny Shakespeare text (1 115 394 bytes) of karpathy/char-rnn.
[[nodiscard]] FetchSource tiny_shakespeare_source();

/// Fetches into a temporary file beside `destination`, verifies its checksum and renames it. Keeps an existing file
/// with the right checksum without fetching.
/// @throws IoError      The program is missing or failed (no internet, for example), or the disk did; says what to do
///                      by hand. `destination` is unchanged.
/// @throws FormatError  The fetched file has another checksum; gives both. `destination` is unchanged.
void fetch(const FetchSource& source, const std::filesystem::path& destination);

/// Calls fetch(tiny_shakespeare_source(), destination).
void fetch_tiny_shakespeare(const std::filesystem::path& destination);

}  // namespace lockstep::data
