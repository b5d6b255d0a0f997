#include "launch/rank_environment.hpp"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::launch {

ReservedPort::ReservedPort(Reach reach) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(reach == Reach::kThisHost ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t bytes = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound = socket_.is_open() && bind(socket_.get(), generic, bytes) == 0 &&
                        // Only now: if it were set before bind, the kernel might give two jobs the same port.
                        setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                        getsockname(socket_.get(), generic, &bytes) == 0;
  if (!is_bound) throw IoError("cannot reserve a TCP port", errno);
  number_ = ntohs(address.sin_port);
}

std::string make_token() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw IoError("cannot make a job token: no random bytes", errno);
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

Variables meeting_variables(int world_size, const ReservedPort& port, const std::string& store,
                            const std::string& token) {
  const std::string ranks = std::to_string(world_size);
  return {{"WORLD_SIZE", ranks},        {"LOCAL_WORLD_SIZE", ranks},
          {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(port.number())},
          {"LOCKSTEP_STORE", store},    {"LOCKSTEP_TOKEN", token},
          {"LOCKSTEP_GENERATION", "0"}};
}

Variables thread_variables(int local_world_size, const Cores& cores) {
  Variables variables;
  std::int64_t threads = std::max(1, cores.physical / local_world_size);
  try {
    threads = environment::get_int("OMP_NUM_THREADS", 1, 1 << 20).value_or(threads);
  } catch (const FormatError&) {
    threads = cores.logical;  // a list per nesting level, say: the user knows best
  }
  if (!environment::get("OMP_NUM_THREADS")) variables.emplace_back("OMP_NUM_THREADS", std::to_string(threads));
  const bool is_oversubscribed = threads * local_world_size > cores.physical;
  if (is_oversubscribed && !environment::get("OMP_WAIT_POLICY")) {
    variables.emplace_back("OMP_WAIT_POLICY", "passive");
    if (!environment::get("GOMP_SPINCOUNT")) variables.emplace_back("GOMP_SPINCOUNT", "0");
  }
  return variables;
}

std::vector<std::string> merged_environment(const Variables& changes) {
  std::map<std::string, std::string> merged;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  merged.erase("RANK");
  merged.erase("LOCAL_RANK");
  for (const auto& [name, value] : changes) merged[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : merged) lines.push_back(name + "=" + value);
  return lines;
}

}  // namespace lockstep::launch
