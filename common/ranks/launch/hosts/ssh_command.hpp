#pragma once
/// @file
/// How a program is started on another host: by OpenSSH's client, without ever waiting for a password.
#include <chrono>
#include <string>
#include <vector>

#include "launch/hosts/hostfile.hpp"

namespace lockstep::launch {

/// The user's part of each call of ssh.
struct SshOptions {
  std::vector<std::string> program = {"ssh"};  ///< And words that come first.
  std::vector<std::string> words;              ///< Options; they win over the launcher's own.
  std::chrono::seconds connect{15};            ///< For the connection.
  std::chrono::milliseconds liveness{15'000};  ///< Without an answer, after which a connection counts as lost.
};

/// A line as a shell would split it: at blanks, but for those in '...', in "..." or after a backslash. Nothing else is
/// special. @throws FormatError  A quotation mark lacks its partner.
[[nodiscard]] std::vector<std::string> split_words(const std::string& line);

/// The command that runs `program`, with `arguments` that need no quotes, on a host.
[[nodiscard]] std::vector<std::string> ssh_command(const SshOptions& options, const HostEntry& host,
                                                   const std::string& program, const std::string& arguments);

/// The name or address that ssh connects to for `host`, to which the user's configuration of ssh may give another name;
/// that of the list where ssh does not say. Starts ssh, which asks nobody.
[[nodiscard]] std::string ssh_host_name(const SshOptions& options, const HostEntry& host);

/// What to try where ssh ended with this last line on standard error.
[[nodiscard]] std::string ssh_advice(const std::string& last_line, const HostEntry& host);

/// "alice@node1".
[[nodiscard]] std::string ssh_name(const HostEntry& host);

}  // namespace lockstep::launch
