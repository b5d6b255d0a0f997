// naive_server works, and breaks in the ways that its header says.
#include <memory>
#include <string>
#include <vector>

#include "net/bytes.hpp"
#include "net/stream_socket.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

// naive_server on a free port.
class NaiveServer {
 public:
  NaiveServer() : process_({test::built_program("naive_server"), "0"}) {
    if (!process_.wait_for_output("clients\n")) return;
    // "server: listening on port 4242 for 4 clients"
    port_ = process_.output_so_far().substr(std::string("server: listening on port ").size());
    port_ = port_.substr(0, port_.find(' '));
  }
  const std::string& port() const { return port_; }
  test::Subprocess& process() { return process_; }

  std::vector<net::StreamSocket> connect_four() const {
    std::vector<net::StreamSocket> clients;
    for (int rank = 0; rank < 4; ++rank) {
      clients.push_back(net::StreamSocket::connect({"127.0.0.1", std::stoi(port_)}, Deadline::after(5s)));
    }
    return clients;
  }

 private:
  test::Subprocess process_;
  std::string port_;
};

void send_values(net::StreamSocket& socket, const std::vector<float>& values) {
  socket.send_all(std::as_bytes(std::span(values)), Deadline::after(5s));
}

}  // namespace

TEST_CASE("four naive clients receive [10, 20, 30]", "[star][chapter][multirank]") {
  NaiveServer server;
  std::vector<std::unique_ptr<test::Subprocess>> clients;
  for (const std::string rank : {"0", "1", "2", "3"}) {
    clients.push_back(std::make_unique<test::Subprocess>(
        std::vector<std::string>{test::built_program("naive_client"), rank, server.port()}));
  }
  for (const auto& client : clients) {
    const test::Finished finished = client->wait();
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, ContainsSubstring("received the sum [10, 20, 30]\n"));
  }
  const test::Finished finished = server.process().wait();
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("server: the sum is [10, 20, 30]\n"));
}

TEST_CASE("a short read gives naive_server a wrong sum", "[star][chapter]") {
  NaiveServer server;
  std::vector<net::StreamSocket> clients = server.connect_four();
  for (std::size_t rank = 1; rank < 4; ++rank) send_values(clients[rank], {1, 2, 3});
  // One of three values arrives; the other two come too late, or would be taken for the next message. Which of the
  // sockets the server calls first is the order of connections, so it is waiting for this one.
  send_values(clients[0], {1});
  CHECK_THAT(server.process().wait().out, !ContainsSubstring("the sum is [4, 8, 12]"));
}

TEST_CASE("naive_server believes anybody who connects, and any bytes", "[star][chapter]") {
  NaiveServer server;
  std::vector<net::StreamSocket> strangers = server.connect_four();
  for (net::StreamSocket& stranger : strangers) stranger.send_all(net::as_bytes("GET / HTTP/1"), Deadline::after(5s));
  CHECK_THAT(server.process().wait().out, ContainsSubstring("server: sent the sum to 4 clients\n"));
}

TEST_CASE("a silent client blocks naive_server, whoever else is ready", "[star][chapter]") {
  NaiveServer server;
  std::vector<net::StreamSocket> clients = server.connect_four();
  for (std::size_t rank = 1; rank < 4; ++rank) send_values(clients[rank], {1, 2, 3});
  CHECK_FALSE(server.process().wait_for_output("the sum is", 300ms));
}
