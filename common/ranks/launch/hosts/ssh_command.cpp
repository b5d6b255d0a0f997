#include "launch/hosts/ssh_command.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "launch/hosts/host_process.hpp"

namespace lockstep::launch {
namespace {

// For `ssh -G`, which reads files and may look up a name.
constexpr std::chrono::seconds kConfigurationLimit{10};

// Quoted so that POSIX shells, csh and fish take it as one word.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::vector<std::string> common_part(const SshOptions& options) {
  std::vector<std::string> command = options.program;
  command.insert(command.end(), options.words.begin(), options.words.end());
  return command;
}

void add_destination(std::vector<std::string>& command, const HostEntry& host) {
  if (!host.user.empty()) command.insert(command.end(), {"-l", host.user});
  command.push_back(host.host);
}

}  // namespace

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_in_word = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && is_blank) {
      is_in_word = false;
      continue;
    }
    if (!std::exchange(is_in_word, true)) words.emplace_back();
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < line.size())  // + 1: what it makes ordinary
      words.back() += line[++i];
    else
      words.back() += c;
  }
  if (quote != 0) throw FormatError(concat("'", line, "': a quotation mark (", quote, ") lacks its partner"));
  return words;
}

std::vector<std::string> ssh_command(const SshOptions& options, const HostEntry& host, const std::string& program,
                                     const std::string& arguments) {
  std::vector<std::string> command = common_part(options);
  const auto option = [&command](const std::string& text) { command.insert(command.end(), {"-o", text}); };
  // ssh uses the first of repeated options: the user's come before.
  option("BatchMode=yes");
  option(concat("ConnectTimeout=", options.connect.count()));
  const auto interval = std::chrono::duration_cast<std::chrono::seconds>(options.liveness / 3);
  option(concat("ServerAliveInterval=", std::max<std::int64_t>(interval.count(), 1)));
  option("ServerAliveCountMax=3");
  option("ClearAllForwardings=yes");
  option("ControlMaster=no");  // an existing connection may be used, but no other session may depend on ours
  command.emplace_back("-T");
  add_destination(command, host);
  command.push_back(concat("exec ", quoted(program), " ", arguments));
  return command;
}

std::string ssh_host_name(const SshOptions& options, const HostEntry& host) {
  std::vector<std::string> command = common_part(options);
  command.emplace_back("-G");
  add_destination(command, host);
  std::string name = host.host;
  HostProcess ssh(std::move(command), inheritable_signals(), [&name](OutputStream stream, std::string_view line) {
    constexpr std::string_view kKey = "hostname ";
    if (stream == OutputStream::kOut && line.starts_with(kKey) && line.ends_with('\n'))
      name = line.substr(kKey.size(), line.size() - kKey.size() - 1);  // - 1: the line's end
  });
  ssh.close_input();
  for (const Deadline deadline = Deadline::after(kConfigurationLimit); !ssh.status() && !deadline.has_expired();) {
    std::vector<pollfd> watched;
    ssh.watch(watched, true);
    ::poll(watched.data(), watched.size(), deadline.poll_timeout_ms());
    ssh.advance(true);
  }
  return name;
}

std::string ssh_advice(const std::string& last_line, const HostEntry& host) {
  static const std::array<std::pair<std::string, std::string>, 7> kAdvice = {{
      {"Permission denied", "ssh must get in with a key and no password: ssh-copy-id "},
      {"Host key verification failed", "this host does not know its key, or knows another one; see it once with: ssh "},
      {"Could not resolve hostname", "is the name right? It must be known here: getent hosts "},
      {"Connection refused", "does sshd run there, at this port? Try: ssh "},
      {"timed out", "is the host up, and does no firewall drop the packets? Try: ssh "},
      {"No route to host", "is the host up, and this network connected to its? Try: ssh "},
      {"not found", "the programs must be at the same path on all hosts. Look with: ssh "},
  }};
  const auto fits = [&](const auto& each) { return last_line.find(each.first) != std::string::npos; };
  const auto found = std::ranges::find_if(kAdvice, fits);
  return concat(found == kAdvice.end() ? "try: ssh " : found->second, ssh_name(host));
}

std::string ssh_name(const HostEntry& host) { return concat(host.user, host.user.empty() ? "" : "@", host.host); }

}  // namespace lockstep::launch
