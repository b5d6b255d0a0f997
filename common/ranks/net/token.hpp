#pragma once
/// @file
/// The secret shared by all ranks of a job, and unknown to strangers.
#include <optional>
#include <string>
#include <string_view>

#include "net/address.hpp"

namespace lockstep::net {

/// 256 random bits as 64 hexadecimal digits. @throws Error  The system provides no randomness.
[[nodiscard]] std::string make_token();

/// Checks a token from a user: 32 to 128 hexadecimal digits, at least 8 of them different. An eavesdropper on a proof
/// can test guesses offline, so a token needs 128 random bits; an invented phrase has fewer.
/// @param source  Its origin for messages: "LOCKSTEP_TOKEN".
/// @throws FormatError  It is not such a token; says how to make one. Does not show it, since it may be a secret.
[[nodiscard]] std::string check_token(const std::string& token, const std::string& source);

/// Parses a token file: the token as in check_token(), with or without an end of line.
/// @param path  For messages. @throws FormatError  The content is anything else.
[[nodiscard]] std::string parse_token(std::string_view content, const std::string& path);

/// The token from the environment: LOCKSTEP_TOKEN, otherwise the file named by LOCKSTEP_TOKEN_FILE.
/// @return  Nothing if neither variable is set.
/// @throws FormatError  It is no token.
/// @throws IoError      The file cannot be read.
/// @throws Error  The file belongs to another user (except root) or others can access it; gives a remedy.
[[nodiscard]] std::optional<std::string> given_token();

/// The token of a job whose ranks meet at `meeting_point`: given_token() or, on loopback, the content of a file that
/// only this user can read, made by the first rank.
///
/// The file is `$XDG_RUNTIME_DIR/lockstep-<uid>/<host>-<port>.token` (in /tmp if that variable is unset), mode 0600, in
/// a folder of mode 0700. It stays after the job: removing it could race with the next job on that port.
/// @throws Error  Not on loopback and no token given; says how to make one. Also if the folder or file belongs to
///         another user or others can access it.
/// @throws FormatError, IoError  See given_token().
[[nodiscard]] std::string find_token(const SocketAddress& meeting_point);

}  // namespace lockstep::net
