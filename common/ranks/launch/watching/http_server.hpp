#pragma once
/// @file
/// A small HTTP server for pages that are read by programs of this host.
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// What a request is answered with.
struct HttpResponse {
  int status = 200;                                        ///< 200, 404, 503, ...
  std::string content_type = "text/plain; charset=utf-8";  ///< Of the body.
  std::string body = {};                                   ///< May be empty.
};

/// Answers GET and HEAD on a loopback port, in a thread of its own: one request per connection, nothing is written,
/// nothing is kept. A client may take 5 s in all and send 8 KiB. 16 connections are served at a time. When they are
/// taken, whoever has had 250 ms without asking makes room for the next client and gets 503, so clients that are slow
/// or silent, however many they are, keep nobody out. What is no such request gets 400, 403, 405, 408 or 431 and is
/// closed.
///
/// A request whose Host is not a loopback address (net::is_loopback()) is refused with 403: else a page in a browser of
/// this host could read what is served, through a name that it has pointed at 127.0.0.1.
/// @source  RFC 9112, HTTP/1.1.
class HttpServer {
 public:
  /// Makes the answer for a path, which is without its query. Called by the server's thread.
  using Handler = std::function<HttpResponse(const std::string& path)>;

  /// Listens and starts the thread, which blocks all signals.
  /// @param port  On 127.0.0.1; 0: a free one.
  /// @throws IoError  The port is taken; no thread or descriptor is to be had.
  HttpServer(int port, Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections and waits for the thread, which a running handler holds up.
  ~HttpServer();

  /// Where it listens.
  [[nodiscard]] int port() const noexcept { return port_; }

 private:
  class Loop;

  int port_ = 0;
  UniqueFd wake_up_;  // an event that ends the loop
  std::thread thread_;
};

/// The answer to a whole request. @param head  Up to and with the empty line.
[[nodiscard]] HttpResponse answer_http(const std::string& head, const HttpServer::Handler& handler);

}  // namespace lockstep::launch
