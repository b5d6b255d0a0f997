#pragma once
/// @file
/// The secret that every rank of a job knows and no stranger does.
#include <optional>
#include <string>
#include <string_view>

#include "net/address.hpp"

namespace lockstep::net {

/// 256 random bits as 64 hexadecimal digits. @throws Error  The system has no randomness to give.
[[nodiscard]] std::string make_token();

/// `token` as somebody has set it: 32 to 128 hexadecimal digits, at least 8 of them different. Somebody who hears a
/// proof of the token can test guesses at home, so it needs 128 random bits; no invented phrase has them.
/// @param source  Where it comes from, for messages: "LOCKSTEP_TOKEN".
/// @throws FormatError  It is no such token; says how to make one and does not show it, it may be a secret.
[[nodiscard]] std::string check_token(const std::string& token, const std::string& source);

/// The token in the content of a token file: as check_token(), with or without an end of line.
/// @param path  For messages. @throws FormatError  The content is anything else.
[[nodiscard]] std::string parse_token(std::string_view content, const std::string& path);

/// The token that the environment gives: LOCKSTEP_TOKEN, else the content of the file that LOCKSTEP_TOKEN_FILE names.
/// @return  Nothing where neither variable is set.
/// @throws FormatError  It is no token.
/// @throws IoError      The file cannot be read.
/// @throws Error        The file belongs to another user (root's may be read) or is open to others; says what to do.
[[nodiscard]] std::optional<std::string> given_token();

/// The token of a job whose ranks meet at `meeting_point`: given_token(); else, on loopback, the content of a file that
/// only this user can read, made by whichever rank comes first.
///
/// The file is `$XDG_RUNTIME_DIR/lockstep-<uid>/<host>-<port>.token` (/tmp where that variable is unset), mode 0600 in
/// a folder of mode 0700. It stays after the job: removing it could race with the next job on that port.
/// @throws Error  Off loopback without a given token; says how to make one. Folder or file belongs to another user or
///                is open to others.
/// @throws FormatError, IoError  As given_token().
[[nodiscard]] std::string find_token(const SocketAddress& meeting_point);

}  // namespace lockstep::net
