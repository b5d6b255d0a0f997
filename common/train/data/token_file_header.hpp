#pragma once
/// @file
/// The first 1024 bytes of a token file.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

inline constexpr std::int32_t kTokenFileMagic = 20240520;    ///< The header's first number.
inline constexpr std::int32_t kTokenFileVersion = 1;         ///< The second number: tokens of two bytes.
inline constexpr std::int64_t kTokenFileHeaderBytes = 1024;  ///< The tokens follow it.
inline constexpr std::int64_t kTokenBytes = 2;
inline constexpr std::int64_t kMostTokensOfFile = INT32_MAX;  ///< The count is a signed number of four bytes.

/// Parses a header.
/// @param header      The file's first bytes: 1024, or fewer if the file is shorter.
/// @param file_bytes  The file's size, which must match the header.
/// @param name        Of the file, for messages.
/// @return  The number of tokens, at least 1.
/// @throws FormatError  Says what is wrong and what to do.
[[nodiscard]] std::int64_t parse_token_file_header(std::span<const std::byte> header, std::int64_t file_bytes,
                                                   const std::string& name);

/// The header of a file of `token_count` tokens. @throws ContractError  Not in [1, kMostTokensOfFile].
[[nodiscard]] std::vector<std::byte> token_file_header(std::int64_t token_count);

}  // namespace lockstep::data
