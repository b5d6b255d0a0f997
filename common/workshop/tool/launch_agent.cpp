// `lockstep launch` on a host that another host's --hostfile names.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "launch/hosts/host_agent.hpp"
#include "tool/launch_hosts.hpp"

namespace lockstep::tool {
namespace {

using launch::HostReport;

constexpr const char* kSamePath = "; the programs must be at the same path on all hosts";

void enter(const launch::HostOrder& order) {
  if (::chdir(order.directory.c_str()) != 0) {
    throw Error(concat("the folder ", order.directory, ", in which the job is to run: ", std::strerror(errno),
                       "; make it there, or start the job in a folder that all hosts have"));
  }
  for (const auto& [name, value] : order.variables) ::setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace

void require_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (::access(program.c_str(), X_OK) == 0) return;
    throw Error(concat("the program ", program, ": ", std::strerror(errno), kSamePath));
  }
  const std::string folders = environment::get("PATH").value_or("");
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    if (::access(concat(folders.substr(begin, end - begin), "/", program).c_str(), X_OK) == 0) return;
    begin = end + 1;  // past the colon
  }
  throw Error(concat("no program ", program, " in its PATH (", folders, "); give its path", kSamePath));
}

int run_as_agent(const std::function<int(const Arguments& arguments, const AgentPart& part)>& launch) {
  launch::HostAgent agent;
  const launch::HostOrder& order = agent.order();
  try {
    enter(order);
    agent.obey(comm::limits_from_environment().liveness);
    const int exit_code = launch(order.arguments, {.name = concat("lockstep on ", order.name),
                                                   .is_first = order.is_first,
                                                   .on_start =
                                                       [&] {
                                                         agent.report({HostReport::Kind::kStarted, 0, {}});
                                                       },
                                                   .on_meeting =
                                                       [&](int port) {
                                                         agent.report({HostReport::Kind::kMeeting, port, {}});
                                                       }});
    agent.report({HostReport::Kind::kEnded, exit_code, {}});
    return exit_code;
  } catch (const std::exception& error) {
    agent.report({HostReport::Kind::kFailed, 1, concat("cannot take part: ", error.what())});
    return 1;
  }
}

}  // namespace lockstep::tool
