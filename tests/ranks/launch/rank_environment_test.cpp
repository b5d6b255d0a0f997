#include "launch/rank_environment.hpp"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>

#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;

namespace {

bool can_listen(int port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && listen(fd.get(), 1) == 0;
}

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; });
  return found == variables.end() ? "(unset)" : found->second;
}

/// Takes a variable out of this process's environment while it lives.
class Without {
 public:
  explicit Without(const char* name) : name_(name) {
    if (const char* value = getenv(name)) value_ = value;
    unsetenv(name);
  }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;
  ~Without() {
    if (!value_.empty()) setenv(name_, value_.c_str(), 1);
  }

 private:
  const char* name_;
  std::string value_;
};

}  // namespace

TEST_CASE("two jobs never get the same port, and a rank can listen on it", "[launch]") {
  std::vector<ReservedPort> ports(200);
  std::set<int> distinct;
  for (const ReservedPort& port : ports) distinct.insert(port.number());
  CHECK(distinct.size() == ports.size());
  CHECK(can_listen(ports.front().number()));
}

TEST_CASE("tokens are long and never repeat", "[launch]") {
  CHECK(make_token().size() == 64);
  CHECK(make_token() != make_token());
}

TEST_CASE("cores are shared out among the ranks", "[launch]") {
  const Without threads("OMP_NUM_THREADS");
  const Without policy("OMP_WAIT_POLICY");
  const Without spin("GOMP_SPINCOUNT");
  const Cores eight{8, 16};
  CHECK(value_of(thread_variables(2, eight), "OMP_NUM_THREADS") == "4");
  CHECK(value_of(thread_variables(2, eight), "OMP_WAIT_POLICY") == "(unset)");
  CHECK(value_of(thread_variables(16, eight), "OMP_NUM_THREADS") == "1");
  CHECK(value_of(thread_variables(16, eight), "OMP_WAIT_POLICY") == "passive");
}

TEST_CASE("a thread count of the user's stands", "[launch]") {
  const Without threads("OMP_NUM_THREADS");
  const Without policy("OMP_WAIT_POLICY");
  setenv("OMP_NUM_THREADS", "3", 1);
  const Variables variables = thread_variables(4, {8, 8});
  unsetenv("OMP_NUM_THREADS");
  CHECK(value_of(variables, "OMP_NUM_THREADS") == "(unset)");
  CHECK(value_of(variables, "OMP_WAIT_POLICY") == "passive");
}

TEST_CASE("changes win over the environment, and a rank of an outer job is forgotten", "[launch]") {
  const Without outer("RANK");
  setenv("RANK", "7", 1);
  const std::vector<std::string> lines = merged_environment({{"WORLD_SIZE", "2"}, {"HOME", "/nowhere"}});
  unsetenv("RANK");
  CHECK(std::count(lines.begin(), lines.end(), "WORLD_SIZE=2") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "HOME=/nowhere") == 1);
  CHECK(std::none_of(lines.begin(), lines.end(), [](const std::string& line) { return line.rfind("RANK=", 0) == 0; }));
}
