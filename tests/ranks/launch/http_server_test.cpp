// The server of the health page, spoken to by raw sockets: clients that are slow, rude or many.
#include "launch/watching/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using launch::HttpResponse;
using launch::HttpServer;

namespace {

HttpResponse pages(const std::string& path) {
  if (path == "/page") return {.content_type = "text/x-test", .body = "a page\n"};
  if (path == "/large") return {.body = std::string(4 << 20, 'x')};
  if (path == "/broken") throw std::runtime_error("no page today");
  return {.status = 404, .body = "nothing\n"};
}

UniqueFd connect_to(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw IoError("connecting to the server", errno);
  return fd;
}

void send_text(const UniqueFd& fd, const std::string& text) {
  if (::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) throw IoError("sending to the server", errno);
}

// The server's output until it closes, at most for a minute.
std::string receive_all(const UniqueFd& fd) {
  std::string text;
  char buffer[4096];
  pollfd watched{fd.get(), POLLIN, 0};
  while (::poll(&watched, 1, 60'000) > 0) {
    const ssize_t bytes = ::recv(fd.get(), buffer, sizeof(buffer), 0);
    if (bytes <= 0) break;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
  return text;
}

// The data received until now, while the connection stays open.
std::string received_so_far(const UniqueFd& fd) {
  char buffer[4096];
  const ssize_t bytes = ::recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  return {buffer, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

std::string ask(int port, const std::string& request) {
  const UniqueFd fd = connect_to(port);
  send_text(fd, request);
  return receive_all(fd);
}

std::string get(const std::string& path, const std::string& host = "127.0.0.1") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

}  // namespace

TEST_CASE("a page is served with its type and length, and the connection closed", "[launch][http]") {
  const HttpServer server(0, pages);
  CHECK(ask(server.port(), get("/page")) ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/x-test\r\nContent-Length: 7\r\nCache-Control: no-store\r\n"
        "Connection: close\r\n\r\na page\n");
  CHECK_THAT(ask(server.port(), get("/page?x=1")), ContainsSubstring("a page"));
  CHECK_THAT(ask(server.port(), "GET /page HTTP/1.0\r\n\r\n"), ContainsSubstring("a page"));
  CHECK_THAT(ask(server.port(), get("/other")), ContainsSubstring("404 Not Found") && ContainsSubstring("nothing"));
  CHECK_THAT(ask(server.port(), get("/broken")), ContainsSubstring("500") && ContainsSubstring("no page today"));
  const std::string head = ask(server.port(), "HEAD /page HTTP/1.1\r\nhOST:  localhost:80 \r\n\r\n");
  CHECK_THAT(head, ContainsSubstring("Content-Length: 7") && !ContainsSubstring("a page"));
}

TEST_CASE("what is no request, or not for this page, is refused", "[launch][http]") {
  const HttpServer server(0, pages);
  for (const char* request : {"\r\n\r\n", "hello\r\n\r\n", "GET /page\r\n\r\n", "GET /page HTTP/2\r\n\r\n",
                              "GET page HTTP/1.1\r\nHost: localhost\r\n\r\n",
                              "GET /page HTTP/1.1 more\r\nHost: localhost\r\n\r\n", "GET /page HTTP/1.1\r\n\r\n"})
    CHECK_THAT(ask(server.port(), request), ContainsSubstring("HTTP/1.1 400 Bad Request"));
  CHECK_THAT(ask(server.port(), std::string("GET /\0page", 10) + "\x01\xff HTTP/1.1\r\nHost: localhost\r\n\r\n"),
             ContainsSubstring("HTTP/1.1 4"));
  for (const char* host :
       {"attacker.example", "127.evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example",
        "[::1].evil.example", "[::1", "[::1]80", "127.0.0.1:80:evil.example", "127.0.0.1:evil", "::1", "",
        "evil.example:127.0.0.1", "127.0.0.1, evil.example"})
    CHECK_THAT(ask(server.port(), get("/page", host)), ContainsSubstring("403 Forbidden"));
  for (const char* host : {"[::1]:80", "[::1]", "LOCALHOST", "LocalHost:8080", "localhost.", "127.0.0.2:80"})
    CHECK_THAT(ask(server.port(), get("/page", host)), ContainsSubstring("200 OK"));
  CHECK_THAT(ask(server.port(), "GET /page HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"),
             ContainsSubstring("400 Bad Request"));
  const std::string post = ask(server.port(), "POST /page HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
  CHECK_THAT(post, ContainsSubstring("405 Method Not Allowed") && ContainsSubstring("Allow: GET, HEAD"));
  CHECK_THAT(ask(server.port(), "GET /page HTTP/1.1\r\nX: " + std::string(9000, 'x')), ContainsSubstring("431"));
}

TEST_CASE("a request may come in pieces, a large page may go in pieces, and clients may leave at any time",
          "[launch][http]") {
  const HttpServer server(0, pages);
  const UniqueFd slow = connect_to(server.port());
  for (const char character : get("/page")) {
    send_text(slow, std::string(1, character));
    if (character == '\n') CHECK_THAT(ask(server.port(), get("/page")), ContainsSubstring("a page"));
  }
  CHECK_THAT(receive_all(slow), ContainsSubstring("a page"));
  { const UniqueFd gone = connect_to(server.port()); }
  for (int i = 0; i < 3; ++i) {
    const UniqueFd leaving = connect_to(server.port());
    send_text(leaving, get("/large"));
  }
  const std::string large = ask(server.port(), get("/large"));
  CHECK(large.size() - large.find("\r\n\r\n") - 4 == std::size_t{4} << 20);
}

TEST_CASE("clients that say nothing are closed", "[launch][http]") {
  const HttpServer server(0, pages);
  const UniqueFd silent = connect_to(server.port());
  CHECK_THAT(receive_all(silent), ContainsSubstring("408 Request Timeout"));
}

// Were they waited for, each would be closed with 408 when its 5 s are over, and the page would come after that.
TEST_CASE("clients that are slow, silent or stay make room for one that asks", "[launch][http]") {
  const std::string beginning = GENERATE(as<std::string>(), "", "GET /page HTTP/1.1\r\nHost: lo", get("/page"));
  const HttpServer server(0, pages);
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(connect_to(server.port()));
    if (!beginning.empty()) send_text(slow.back(), beginning);
  }
  CHECK_THAT(ask(server.port(), get("/page")), ContainsSubstring("a page"));
  std::size_t timed_out = 0, made_room = 0;
  for (const UniqueFd& client : slow) {
    const std::string text = received_so_far(client);
    timed_out += text.find("408 Request Timeout") == std::string::npos ? 0 : 1;
    made_room += text.find("503 Service Unavailable") == std::string::npos ? 0 : 1;
    if (beginning == get("/page")) CHECK_THAT(text, ContainsSubstring("a page"));
  }
  CHECK(timed_out == 0);
  CHECK((made_room > 0) == (beginning != get("/page")));
}

TEST_CASE("a server ends while clients are connected, and a taken port is an error", "[launch][http]") {
  std::optional<HttpServer> server;
  server.emplace(0, pages);
  const int port = server->port();
  CHECK_THROWS_AS(HttpServer(port, pages), IoError);
  const UniqueFd client = connect_to(port);
  server.reset();
  CHECK(receive_all(client).empty());
  CHECK_THROWS_AS(connect_to(port), IoError);
}
