#pragma once
/// @file
/// The secret that every rank of a job knows and no stranger does.
#include <string>
#include <string_view>

#include "net/address.hpp"

namespace lockstep::net {

/// 256 random bits as 64 hexadecimal digits. @throws Error  The system has no randomness to give.
[[nodiscard]] std::string make_token();

/// `token` as somebody has set it. @throws FormatError  It is too short to be a secret; says how to make one.
[[nodiscard]] std::string check_token(const std::string& token);

/// The token in the content of a token file: 64 hexadecimal digits, with or without an end of line.
/// @param path  For messages. @throws FormatError  The content is anything else; it is not shown, it may be a secret.
[[nodiscard]] std::string parse_token(std::string_view content, const std::string& path);

/// The token of a job whose ranks meet at `meeting_point`: LOCKSTEP_TOKEN where it is set; else, on loopback, the
/// content of a file that only this user can read, made by whichever rank comes first.
///
/// The file is `$XDG_RUNTIME_DIR/lockstep-<uid>/<host>-<port>.token` (/tmp where that variable is unset), mode 0600 in
/// a folder of mode 0700. It stays after the job: removing it could race with the next job on that port.
/// @throws Error        Off loopback without LOCKSTEP_TOKEN; says how to make one. Folder or file belongs to another
/// user or is
///                      open to others.
/// @throws FormatError  LOCKSTEP_TOKEN has fewer than 16 characters.
[[nodiscard]] std::string find_token(const SocketAddress& meeting_point);

}  // namespace lockstep::net
