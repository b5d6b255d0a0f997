#include "01_mini_all_reduce/attacks.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::star {
namespace {

using namespace std::chrono_literals;

constexpr auto kSilence = 1s;
constexpr std::array<float, 3> kLie = {1000, 1000, 1000};

std::string client(int rank) { return concat("client ", rank); }

void join_all(AttackHarness& harness, int end) {
  for (int rank = 0; rank < end; ++rank) harness.join(rank);
}

void contribute_all(AttackHarness& harness, int end) {
  for (int rank = 0; rank < end; ++rank) harness.contribute(rank);
}

// Takes the free place on the checked server: a client with the right values. The naive one has no free place.
void send_another(AttackHarness& harness, int rank) {
  if (!harness.is_checked()) return;
  harness.say("another client", concat("takes the place of client ", rank));
  harness.join(rank);
  harness.contribute(rank);
}

Outcome short_read(AttackHarness& harness) {
  join_all(harness, AttackHarness::kWorldSize);
  contribute_all(harness, 3);
  const std::vector<std::byte> message = harness.message_of(3, 3);
  const std::size_t first_bytes = harness.is_checked() ? 68 : 4;  // the 64-byte header, if there is one, and one value
  harness.say(client(3), concat("sends ", first_bytes, " of its ", message.size(), " bytes"));
  harness.send_bytes(3, std::span(message).first(first_bytes));
  if (!harness.is_checked()) harness.hear("sent the sum");  // four bytes are enough for the naive one
  harness.say(client(3), "sends the rest");
  try {
    harness.send_bytes(3, std::span(message).subspan(first_bytes));
  } catch (const IoError&) {
    harness.say(client(3), "fails: the server has gone");
  }
  return harness.finish();
}

// All send at once: waiting for the server to take one message before sending the next would block forever.
Outcome megabyte(AttackHarness& harness) {
  join_all(harness, AttackHarness::kWorldSize);
  harness.say("clients", "send 1048576 bytes each");
  std::vector<std::future<void>> senders;
  for (int rank = 0; rank < AttackHarness::kWorldSize; ++rank) {
    senders.push_back(std::async(std::launch::async, [&harness, rank] {
      try {
        harness.send_bytes(rank, harness.message_of(rank, 262'144));
      } catch (const Error&) {
        // The server has closed the connection without reading all of it: the answer will show it.
      }
    }));
  }
  return harness.finish();
}

Outcome silent(AttackHarness& harness) {
  join_all(harness, AttackHarness::kWorldSize);
  contribute_all(harness, 3);
  harness.say(client(3), "says nothing");
  return harness.finish(harness.is_checked() ? AttackHarness::kPatience : kSilence);
}

Outcome garbage(AttackHarness& harness) {
  join_all(harness, 3);
  contribute_all(harness, harness.is_checked() ? 3 : 0);  // the naive one reads nothing until four have connected
  harness.say("stranger", "connects and sends \"GET / HTTP/1.1\", as a web browser would");
  net::StreamSocket browser = harness.stranger();
  browser.send_all(net::as_bytes("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                   Deadline::after(AttackHarness::kPatience));
  harness.hear(harness.is_checked() ? "refused a stranger" : "connected");
  if (harness.is_checked()) {
    harness.join(3);
    harness.contribute(3);
  } else {
    contribute_all(harness, 3);
  }
  return harness.finish();
}

Outcome open_port(AttackHarness& harness) {
  harness.say("stranger", "connects first and sends [1000, 1000, 1000]");
  net::StreamSocket liar = harness.stranger();
  liar.send_all(std::as_bytes(std::span(kLie)), Deadline::after(AttackHarness::kPatience));
  harness.hear(harness.is_checked() ? "refused a stranger" : "connected");
  join_all(harness, 3);
  if (!harness.is_checked()) harness.hear("received [");
  harness.join(3);
  if (!harness.is_checked()) {  // it has its four, and ignores the fifth
    harness.say(client(3), "connects and sends [4, 8, 12]");
    harness.send_bytes(3, harness.message_of(3, 3));
  }
  contribute_all(harness, harness.is_checked() ? AttackHarness::kWorldSize : 3);
  return harness.finish();
}

Outcome wrong_size(AttackHarness& harness) {
  join_all(harness, AttackHarness::kWorldSize);
  contribute_all(harness, 3);
  harness.say(client(3), "sends 2 values where 3 are expected");
  harness.send_bytes(3, harness.message_of(3, 2));
  harness.hear(harness.is_checked() ? "is dropped" : "received [");
  send_another(harness, 3);
  return harness.finish();
}

Outcome fifth(AttackHarness& harness) {
  join_all(harness, AttackHarness::kWorldSize);
  harness.say(client(4), "connects, though clients are 0 to 3");
  harness.join(4);
  if (!harness.is_checked()) harness.send_bytes(4, harness.message_of(4, 3));
  contribute_all(harness, AttackHarness::kWorldSize);
  return harness.finish();
}

Outcome dies(AttackHarness& harness) {
  join_all(harness, AttackHarness::kWorldSize);
  harness.say(client(3), "dies before it has sent anything");
  harness.leave(3);
  contribute_all(harness, 3);
  send_another(harness, 3);
  return harness.finish();
}

constexpr std::array<Attack, 8> kAttacks = {{
    {"short-read", "a message arrives in two pieces", "a message states its length, and is read to its end",
     "common/ranks/net/frame_stream.hpp", short_read},
    {"megabyte", "messages of 1 MB: recv() returns what has arrived so far",
     "read until everything has arrived, not just once", "common/ranks/net/stream_socket.hpp", megabyte, 262'144},
    {"silent", "a client connects and says nothing", "one deadline, made once and passed down to every wait",
     "common/base/deadline.hpp", silent, 3, true},
    {"garbage", "a web browser connects", "both ends begin with a handshake that no other program speaks",
     "common/ranks/net/handshake.hpp", garbage},
    {"open-port", "somebody else sends three numbers", "only a client that proves the job's token is let in",
     "common/ranks/net/guarded_listener.hpp", open_port},
    {"wrong-size", "a client sends two values, not three", "the header says how long the message is",
     "common/ranks/net/frame.hpp", wrong_size},
    {"fifth", "a fifth client joins a sum of four", "a client says which rank it is, and gets an answer",
     "common/ranks/net/handshake.hpp", fifth},
    {"dies", "a client dies before it has sent its values", "the end of a connection is an error, not zero bytes",
     "common/ranks/net/stream_socket.hpp", dies},
}};

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += concat(text.empty() ? "" : ", ", rank);
  return text;
}

Verdict judge(const Outcome& outcome) {
  if (outcome.sum.empty() && !outcome.has_server_ended) {
    return {false, concat("after ", format_seconds(kSilence), " there is no sum, and the server is still waiting")};
  }
  if (outcome.sum.empty()) {
    const bool names_client = outcome.servers_error.find("client(s) 3") != std::string::npos;
    return {names_client, concat("there is no sum; the server ends and ",
                                 names_client ? "says who is missing" : "does not say who is missing")};
  }
  if (outcome.sum != outcome.expected) {
    return {false, concat("the sum is ", outcome.sum, " but should be ", outcome.expected, "; nobody is told")};
  }
  if (!outcome.without_answer.empty()) {
    return {false, concat("client ", list_of(outcome.without_answer),
                          " connected and sent its values, but never gets an answer")};
  }
  return {true, concat("the sum is right, ", outcome.expected,
                       outcome.refusals.empty() ? "" : ", and the client without a place is told why")};
}

}  // namespace

std::span<const Attack> attacks() { return kAttacks; }

const Attack& attack_named(std::string_view name) {
  const auto found = std::find_if(kAttacks.begin(), kAttacks.end(), [&](const Attack& a) { return a.name == name; });
  if (found != kAttacks.end()) return *found;
  std::string names;
  for (const Attack& attack : kAttacks) names += concat(names.empty() ? "" : ", ", attack.name);
  throw UsageError(concat("there is no attack \"", name, "\"; the attacks are: ", names));
}

Verdict play(const Attack& attack, ServerKind kind, std::ostream& transcript) {
  const auto server_timeout = attack.is_about_silence ? kSilence : std::chrono::milliseconds(AttackHarness::kPatience);
  AttackHarness harness({.kind = kind, .count = attack.count, .server_timeout = server_timeout}, transcript);
  return judge(attack.play(harness));
}

}  // namespace lockstep::star
