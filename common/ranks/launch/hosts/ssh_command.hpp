#pragma once
/// @file
/// Starts programs on other hosts with OpenSSH's client, which never waits for a password.
#include <chrono>
#include <string>
#include <vector>

#include "launch/hosts/hostfile.hpp"

namespace lockstep::launch {

/// The user's options for each call of ssh.
struct SshOptions {
  std::vector<std::string> program = {"ssh"};  ///< May include leading arguments.
  std::vector<std::string> words;              ///< Options; they override the launcher's.
  std::chrono::seconds connect{15};            ///< Time limit for connecting.
  std::chrono::milliseconds liveness{15'000};  ///< Silence after which a connection counts as lost.
};

/// Splits a line as a shell would: at blanks, except those in '...', in "..." or after a backslash. Nothing else is
/// special. @throws FormatError  A quotation mark lacks its partner.
[[nodiscard]] std::vector<std::string> split_words(const std::string& line);

/// The command that runs `program` on a host. `arguments` must need no quotes.
[[nodiscard]] std::vector<std::string> ssh_command(const SshOptions& options, const HostEntry& host,
                                                   const std::string& program, const std::string& arguments);

/// The name or address that ssh connects to for `host`, which the user's ssh configuration may change; the name in the
/// list if ssh does not tell. Runs ssh, without prompts.
[[nodiscard]] std::string ssh_host_name(const SshOptions& options, const HostEntry& host);

/// Advice if ssh ended with this last line on standard error.
[[nodiscard]] std::string ssh_advice(const std::string& last_line, const HostEntry& host);

/// "alice@node1".
[[nodiscard]] std::string ssh_name(const HostEntry& host);

}  // namespace lockstep::launch
