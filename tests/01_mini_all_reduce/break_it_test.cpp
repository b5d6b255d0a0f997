// break_it: every attack on both servers, with what it must say in the end.
#include <signal.h>

#include <algorithm>

#include "base/processes.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

namespace {

struct Case {
  std::string attack;
  std::string naive;    // how naive_server breaks
  std::string checked;  // how server holds
  std::string layer;
};

const std::string kHolds = "HOLDS: the sum is right, [10, 20, 30]";

const std::vector<Case> kCases = {
    {"short-read", "BREAKS: the sum is [10, 12, 18] but should be [10, 20, 30]", kHolds, "ranks/net/frame_stream.hpp"},
    {"megabyte", "but should be [10, 20, 30, ..., 2.62144e+06]; nobody is told",
     "HOLDS: the sum is right, [10, 20, 30, ..., 2.62144e+06]", "ranks/net/stream_socket.hpp"},
    {"silent", "BREAKS: after 1.0 s there is no sum", "HOLDS: there is no sum; the server ends and says who is missing",
     "base/deadline.hpp"},
    // "GET ", "/ HT" and "TP/1" as float32: 1.8e-19, 3.4e12 and 2.6e-9, beside 6, 12 and 18 of the other three.
    {"garbage", "BREAKS: the sum is [6, 3.43813e+12, 18] but should be [10, 20, 30]", kHolds,
     "ranks/net/handshake.hpp"},
    {"open-port", "BREAKS: the sum is [1006, 1012, 1018] but should be [10, 20, 30]", kHolds,
     "ranks/net/guarded_listener.hpp"},
    {"wrong-size", "BREAKS: the sum is [10, 20, 18] but should be [10, 20, 30]", kHolds, "ranks/net/frame.hpp"},
    {"fifth", "BREAKS: client 4 connected and sent its values, but never gets an answer",
     kHolds + ", and the client without a place is told why", "ranks/net/handshake.hpp"},
    {"dies", "BREAKS: the sum is [6, 12, 18] but should be [10, 20, 30]", kHolds, "ranks/net/stream_socket.hpp"},
};

test::Finished break_it(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), test::built_program("break_it"));
  return test::run_program(arguments);
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0, begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    longest = std::max(longest, end - begin);
  return longest;
}

// What it prints in 80 columns, with the lines whole again.
std::string unwrapped(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) text.replace(at, 3, " ");
  return text;
}

}  // namespace

TEST_CASE("every attack breaks naive_server", "[star][chapter][multirank]") {
  for (const Case& attack : kCases) {
    const test::Finished finished = break_it({attack.attack});
    INFO(attack.attack << "\n" << finished.out << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(unwrapped(finished.out), ContainsSubstring("BREAKS: ") && ContainsSubstring(attack.naive));
    CHECK_THAT(finished.out, ContainsSubstring("(common/" + attack.layer + ")\n"));
    CHECK(longest_line(finished.out) <= 80);
  }
}

TEST_CASE("the server that holds survives every attack", "[star][chapter][multirank]") {
  for (const Case& attack : kCases) {
    const test::Finished finished = break_it({attack.attack, "--server", "checked"});
    INFO(attack.attack << "\n" << finished.out << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(unwrapped(finished.out), ContainsSubstring("\n" + attack.checked + "\n"));
    CHECK_THAT(finished.out, ContainsSubstring("(common/" + attack.layer + ")\n"));
    CHECK(longest_line(finished.out) <= 80);
  }
}

TEST_CASE("the transcript tells the server why it drops whom", "[star][chapter][multirank]") {
  const auto checked = [](const std::string& attack) { return break_it({attack, "--server", "checked"}).out; };
  CHECK_THAT(checked("garbage"),
             ContainsSubstring("server: refused a stranger: 127.0.0.1:") && ContainsSubstring("sent \"GET / HTTP/1.1"));
  CHECK_THAT(checked("wrong-size"), ContainsSubstring("server: client 3 is dropped: it sent 8 bytes, expected 12\n"));
  CHECK_THAT(checked("silent"), ContainsSubstring("server: no values from client(s) 3 within 1.0 s"));
}

TEST_CASE("break_it lists its attacks and refuses others", "[star][chapter]") {
  const test::Finished listed = break_it({"--list"});
  CHECK(listed.exit_code == 0);
  for (const Case& attack : kCases) CHECK_THAT(listed.out, ContainsSubstring(attack.attack));
  const test::Finished unknown = break_it({"flood"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("there is no attack \"flood\"; the attacks are: short-read, megabyte"));
  CHECK(break_it({}).exit_code == 2);
}

TEST_CASE("break_it leaves no server behind, even when it is killed", "[star][chapter]") {
  test::Subprocess attack({test::built_program("break_it"), "silent"});
  CHECK(attack.wait_for_output("client 3: says nothing"));
  const std::vector<pid_t> children = descendants_of(attack.pid());
  CHECK(children.size() == 3);  // guardian, reaper and, below them, naive_server
  attack.send_signal(SIGKILL);
  CHECK(attack.wait().exit_code == 128 + SIGKILL);
  CHECK(test::wait_until_gone(children).empty());
}
