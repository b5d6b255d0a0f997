#pragma once
/// @file
/// Seeds that cannot be computed without the class's key.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grading {

/// A number that cannot be computed without the key: the first bytes of HMAC-SHA256(key, name), below 2^53 so that JSON
/// represents it exactly. @throws Error  OpenSSL fails.
[[nodiscard]] std::uint64_t secret_number(std::string_view key, std::string_view name);

/// A seed for each of these exercises.
[[nodiscard]] std::map<std::string, std::uint64_t> seeds_from_key(std::string_view key,
                                                                  const std::vector<std::string>& exercises);

/// Seeds from a JSON object such as {"02.1": 4711}.
/// @param path  See read_secret(). @param exercises  Each of them must have a seed: without one, an exercise would be
/// judged by the public inputs. @throws UsageError  One has none. @throws FormatError  The file is no such object.
[[nodiscard]] std::map<std::string, std::uint64_t> seeds_from_file(const std::filesystem::path& path,
                                                                   const std::vector<std::string>& exercises);

}  // namespace lockstep::grading
