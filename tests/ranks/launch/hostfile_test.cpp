// Lists of hosts, the order for an agent, and the words for ssh.
#include "launch/hosts/hostfile.hpp"

#include "base/error.hpp"
#include "launch/hosts/host_lines.hpp"
#include "launch/hosts/host_order.hpp"
#include "launch/hosts/ssh_command.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;

namespace {

std::vector<HostEntry> parse(const std::string& text) { return parse_hostfile(text, "hosts"); }

}  // namespace

TEST_CASE("a hostfile has the forms of Open MPI and DeepSpeed", "[launch][07]") {
  const auto hosts = parse(
      "# two machines\n"
      "node1 slots=4   # the first\r\n"
      "\n"
      "\talice@node2.example.com   slots=2 max_slots=8\n"
      "[fd00::7] max-slots=3\n"
      "10.0.0.4\n");
  CHECK(hosts ==
        std::vector<HostEntry>{
            {"node1", "", 4, 2}, {"node2.example.com", "alice", 2, 4}, {"fd00::7", "", 0, 5}, {"10.0.0.4", "", 0, 6}});
}

TEST_CASE("a host on several lines has the slots of all of them", "[launch][07]") {
  CHECK(parse("a\na\nb slots=2\na\nb slots=3") == std::vector<HostEntry>{{"a", "", 3, 1}, {"b", "", 5, 3}});
  CHECK(parse("a slots=2\nbob@a slots=1").size() == 2);  // another user is another place
}

TEST_CASE("what a hostfile cannot mean is named with file, line and remedy", "[launch][07]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"a\nb:4", "hosts:2: 'b:4': write b slots=4; a port of ssh"},
      {"fd00::1", "hosts:1: an IPv6 address stands in brackets: [fd00::1]"},
      {"[node1]", "hosts:1: '[node1]': what is in brackets is no IPv6 address"},
      {"a slots=0", "hosts:1: 'slots=0': the number of ranks must be from 1 to 65536"},
      {"a slots=x", "hosts:1: 'slots=x': the number"},
      {"a slots 4", "hosts:1: 'slots' is neither slots=N nor max_slots=N"},
      {"a cpus=4", "hosts:1: 'cpus=4' is neither"},
      {"a slots=4 max_slots=2", "hosts:1: slots=4 is more than max_slots=2"},
      {"@a", "hosts:1: '@a' names no user"},
      {"-oProxyCommand=evil", "is not the name of a host"},
      {"-oProxyCommand=evil@a", "names no user"},
      {"slots=4", "hosts:1: 'slots=4' is not the name of a host"},
      {"# nothing\n\n", "hosts lists no host"},
  }));
  CAPTURE(text);
  CHECK_THROWS_WITH(parse(text), ContainsSubstring(message));
  CHECK_THROWS_AS(parse(text), FormatError);
}

TEST_CASE("an order survives the way to the agent, whatever is in it", "[launch][07]") {
  const HostOrder order{"mark", "node2", "/a b", false, {{"TOKEN", "x=y\nz"}, {"EMPTY", ""}}, {"--", "\xff'\"$x", ""}};
  const std::string bytes = encode(order);
  const std::size_t end = bytes.find('\n');
  const std::string content = bytes.substr(end + 1);
  CHECK(bytes.substr(0, end) == std::to_string(content.size()));
  CHECK(decode_order(content) == order);
  for (std::size_t size = 0; size < content.size(); ++size)
    CHECK_THROWS_AS(decode_order(std::string_view(content).substr(0, size)), FormatError);
  CHECK_THROWS_AS(decode_order(content + "x"), FormatError);
}

TEST_CASE("reports are lines that begin with the mark", "[launch][07]") {
  for (const HostReport& report :
       {HostReport{HostReport::Kind::kStarted, 0, ""}, HostReport{HostReport::Kind::kMeeting, 41234, ""},
        HostReport{HostReport::Kind::kFailed, 1, "no  such thing"}, HostReport{HostReport::Kind::kEnded, 255, ""}}) {
    const std::string line = encode(report, "m4rk");
    REQUIRE(line.starts_with("m4rk"));
    CHECK(decode_report(std::string_view(line).substr(4)) == report);
  }
  for (const char* const text : {"", " ", " ended", " ended x", " finished 3", " ended 99999999999"})
    CHECK_FALSE(decode_report(text));
}

TEST_CASE("words are split as a shell splits them", "[launch][07]") {
  CHECK(split_words("  -p 22 -i 'my key' \"a'b\\\"c\" d\\ e ''") ==
        std::vector<std::string>{"-p", "22", "-i", "my key", "a'b\"c", "d e", ""});
  CHECK(split_words("").empty());
  CHECK_THROWS_WITH(split_words("-i 'my key"), ContainsSubstring("lacks its partner"));
}

TEST_CASE("ssh gets the user's options first, asks for no password, and one quoted command last", "[launch][07]") {
  const auto command = ssh_command({.program = {"ssh", "-v"}, .words = {"-p", "2222"}}, {"node2", "alice", 1, 1},
                                   "/it's here/lockstep", "launch --as-agent");
  const std::vector<std::string> first(command.begin(), command.begin() + 6);
  CHECK(first == std::vector<std::string>{"ssh", "-v", "-p", "2222", "-o", "BatchMode=yes"});
  const std::vector<std::string> last(command.end() - 4, command.end());
  CHECK(last == std::vector<std::string>{"-l", "alice", "node2", "exec '/it'\\''s here/lockstep' launch --as-agent"});
}

TEST_CASE("what several agents say alike is news once", "[launch][07]") {
  HostLines lines("lockstep");
  CHECK(lines.is_news(0, "a", "lockstep on a: host c is lost\n"));
  CHECK_FALSE(lines.is_news(1, "b", "lockstep on b: host c is lost\n"));
  CHECK(lines.is_news(0, "a", "lockstep on a: host c is lost\n"));  // again
  CHECK(lines.is_news(1, "b", "lockstep on b: host d is lost\n"));
  for (const int host : {0, 1}) CHECK(lines.is_news(host, host == 0 ? "a" : "b", "[rank 0] the same\n"));
}
