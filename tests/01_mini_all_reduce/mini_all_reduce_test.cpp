#include "01_mini_all_reduce/mini_all_reduce.hpp"

#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/guarded_listener.hpp"
#include "net/handshake.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using star::contribute;
using star::MiniOptions;

namespace {

const std::string kToken = "00112233445566778899aabbccddeeff";
const std::vector<float> kSum{10, 20, 30};

struct Outcome {
  std::vector<float> sum;
  std::string error;
  std::string transcript;
};

// One server on a free port, and whatever clients a test adds; each on a thread of its own.
class Job {
 public:
  explicit Job(std::chrono::milliseconds timeout = 10s) {
    ::setenv("LOCKSTEP_TOKEN", kToken.c_str(), 1);
    options_.timeout = timeout;
    options_.address.port = 0;
    server_.emplace(options_, transcript_);
    options_.address = server_->address();
    sum_ = std::async(std::launch::async, [this] { return attempt([this] { return server_->run(); }); });
  }

  std::future<Outcome> start_client(int rank, std::vector<float> values) {
    return std::async(std::launch::async, [this, rank, values = std::move(values)] {
      std::ostringstream transcript;
      MiniOptions patient = options_;
      patient.timeout += 5s;  // a client that gave up at the same moment would count as missing, too
      Outcome outcome = attempt([&] { return contribute(rank, values, patient, transcript); });
      outcome.transcript = transcript.str();
      return outcome;
    });
  }
  std::future<Outcome> start_client(int rank) {
    const auto factor = static_cast<float>(rank + 1);
    return start_client(rank, {1 * factor, 2 * factor, 3 * factor});
  }

  std::vector<Outcome> run_clients(const std::vector<int>& ranks = {0, 1, 2, 3}) {
    std::vector<std::future<Outcome>> running;
    for (const int rank : ranks) running.push_back(start_client(rank));
    std::vector<Outcome> outcomes;
    for (auto& client : running) outcomes.push_back(client.get());
    return outcomes;
  }

  Outcome finish() {
    Outcome outcome = sum_.get();
    outcome.transcript = transcript_.str();
    return outcome;
  }

  const MiniOptions& options() const { return options_; }

 private:
  static Outcome attempt(const std::function<std::vector<float>()>& action) {
    try {
      return {action(), "", ""};
    } catch (const std::exception& error) {
      return {{}, error.what(), ""};
    }
  }

  MiniOptions options_;
  std::ostringstream transcript_;
  std::optional<star::MiniServer> server_;
  std::future<Outcome> sum_;
};

}  // namespace

TEST_CASE("client r sends [1, 2, 3] x (r + 1) and every client receives [10, 20, 30]", "[star][chapter][multirank]") {
  Job job;
  for (const Outcome& client : job.run_clients()) {
    CHECK(client.error == "");
    CHECK(client.sum == kSum);
    CHECK_THAT(client.transcript, ContainsSubstring("received the sum [10, 20, 30]\n"));
  }
  const Outcome server = job.finish();
  CHECK(server.sum == kSum);
  CHECK_THAT(server.transcript, ContainsSubstring("server: received [3, 6, 9] from client 2\n"));
  CHECK_THAT(server.transcript, ContainsSubstring("server: sent the sum to 4 clients\n"));
}

TEST_CASE("strangers, silent or loud, change nothing", "[star][chapter][multirank]") {
  Job job;
  const Deadline deadline = Deadline::after(10s);
  net::StreamSocket silent = net::StreamSocket::connect(job.options().address, deadline);
  net::StreamSocket loud = net::StreamSocket::connect(job.options().address, deadline);
  loud.send_all(net::as_bytes("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: someone who is lost here\r\n\r\n"),
                deadline);
  for (const Outcome& client : job.run_clients()) CHECK(client.sum == kSum);
  CHECK(job.finish().sum == kSum);
}

TEST_CASE("a client with another token is refused, and told so", "[star][chapter][multirank]") {
  Job job;
  const net::Identity identity{.role = net::Role::kCollective, .rank = 1};
  CHECK_THROWS_AS(net::connect_authenticated(job.options().address, std::string(64, 'b'), identity, "the server",
                                             Deadline::after(5s)),
                  Error);
  for (const Outcome& client : job.run_clients()) CHECK(client.sum == kSum);
}

TEST_CASE("another client takes the rank of one that died", "[star][chapter][multirank]") {
  Job job;
  const net::Identity identity{.role = net::Role::kCollective, .rank = 2};
  (void)net::connect_authenticated(job.options().address, kToken, identity, "the server", Deadline::after(5s));
  for (const Outcome& client : job.run_clients()) CHECK(client.sum == kSum);
  CHECK_THAT(job.finish().transcript, ContainsSubstring("server: client 2 is dropped: client 2"));
}

TEST_CASE("wrong counts, surplus ranks and taken ranks are refused with the reason", "[star][chapter][multirank]") {
  Job job;
  CHECK_THAT(job.start_client(1, {1, 2, 3, 4}).get().error, ContainsSubstring("it sent 16 bytes, expected 12"));
  CHECK_THAT(job.start_client(4).get().error, ContainsSubstring("clients are 0 to 3"));
  CHECK_THAT(job.start_client(-1).get().error, ContainsSubstring("clients are 0 to 3"));

  // Both claim rank 0: whichever comes second is refused, and the first is served once the others are there.
  std::future<Outcome> first = job.start_client(0);
  std::future<Outcome> second = job.start_client(0);
  const auto is_done = [](const std::future<Outcome>& client) {
    return client.wait_for(1ms) == std::future_status::ready;
  };
  const Deadline deadline = Deadline::after(10s);
  while (!is_done(first) && !is_done(second) && !deadline.has_expired()) {
  }
  if (!is_done(second)) std::swap(first, second);
  CHECK_THAT(second.get().error, ContainsSubstring("this rank is already connected"));
  for (const Outcome& client : job.run_clients({1, 2, 3})) CHECK(client.sum == kSum);
  CHECK(first.get().sum == kSum);
}

TEST_CASE("a sum of another length than was sent is no sum", "[star][chapter][multirank]") {
  ::setenv("LOCKSTEP_TOKEN", kToken.c_str(), 1);
  for (const std::size_t bytes : {13, 8, 16, 0}) {  // 12 are right
    net::GuardedListener server({}, kToken, {.role = net::Role::kCollective});
    auto client = std::async(std::launch::async, [&]() -> std::string {
      std::ostringstream transcript;
      try {
        return star::to_text(contribute(0, kSum, {.address = server.address(), .timeout = 5s}, transcript));
      } catch (const FormatError& error) {
        return error.what();
      }
    });
    net::StreamSocket socket = server.accept(Deadline::after(5s)).socket;
    const std::vector<std::byte> payload(bytes);
    net::send_frame(socket, {}, payload, Deadline::after(5s));
    CHECK_THAT(client.get(), ContainsSubstring(concat("sent ", bytes, " bytes, expected 12")));
  }
}

TEST_CASE("a server without its clients ends, and names them", "[star][chapter][multirank]") {
  Job job(1500ms);
  const std::vector<Outcome> clients = job.run_clients({0, 2});
  const Outcome server = job.finish();
  CHECK_THAT(server.error, ContainsSubstring("no values from client(s) 1, 3 within 1.5 s"));
  CHECK(clients[0].error != "");
}

TEST_CASE("the programs say what went wrong in one line", "[star][chapter]") {
  const auto client = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), test::built_program("client"));
    return test::run_program(arguments, {{"LOCKSTEP_TOKEN", kToken}});
  };
  const test::Finished nobody = client({"0", "--port", "1", "--timeout", "0.3"});
  CHECK(nobody.exit_code == 1);
  CHECK_THAT(nobody.err, ContainsSubstring("client: cannot connect to 127.0.0.1:1"));
  CHECK(client({}).exit_code == 2);
  CHECK_THAT(client({"0", "--port", "1", "--timeout", "1e30"}).err,
             ContainsSubstring("'1e30' is not a number of seconds greater than 0 and at most 1000000000"));
  CHECK(test::run_program({test::built_program("server"), "--timeout", "1e30"}).exit_code == 2);
  const test::Finished wrong = client({"0", "--prot", "1"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("did you mean --port?"));
}
