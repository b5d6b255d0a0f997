#pragma once
/// @file
/// A small HTTP server for programs on this host.
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// The response to a request.
struct HttpResponse {
  int status = 200;  ///< 200, 404, 503, ...
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

/// Answers GET and HEAD on a loopback port in its own thread: one request per connection, read-only and stateless. A
/// client may take 5 s in all and send 8 KiB. 16 connections are served at a time. If all are in use, a client that has
/// sent no request within 250 ms gets 503 and makes room for the next one, so that slow or silent clients cannot block
/// others. Invalid requests get 400, 403, 405, 408 or 431 and are closed.
///
/// A request whose Host is not a loopback address (net::is_loopback()) is rejected with 403: otherwise a page in a
/// browser on this host could read the responses, through a name that resolves to 127.0.0.1.
/// @source  RFC 9112, HTTP/1.1.
class HttpServer {
 public:
  /// Makes the response for a path without its query. Called by the server's thread.
  using Handler = std::function<HttpResponse(const std::string& path)>;

  /// Listens and starts the thread, which blocks all signals.
  /// @param port  On 127.0.0.1; 0: a free one.
  /// @throws IoError  The port is taken, or no thread or descriptor is available.
  HttpServer(int port, Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections and waits for the thread and a running handler.
  ~HttpServer();

  [[nodiscard]] int port() const noexcept { return port_; }

 private:
  class Loop;

  int port_ = 0;
  UniqueFd wake_up_;  // an event that ends the loop
  std::thread thread_;
};

/// The response to a complete request. @param head  Up to and including the empty line.
[[nodiscard]] HttpResponse answer_http(const std::string& head, const HttpServer::Handler& handler);

}  // namespace lockstep::launch
