// naive_server: sums what four clients send, with nothing but POSIX calls. Start it, then naive_client 0 .. 3.
//
// It shows the idea and it is wrong. What breaks it, each mended by one layer of common/net (see the lesson):
//   short reads       recv() may return a part of the bytes; the rest is then taken for the next message
//   a silent client   a client that connects and sends nothing blocks everyone for ever
//   garbage           any 12 bytes are three floats: nothing says who sent them, or that they are floats
//   an open port      whoever connects first counts as a rank
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kWorldSize = 4;
constexpr int kCount = 3;

int fail(const char* what) {
  std::perror(what);
  return 1;
}

// A listening socket on the loopback address; port 0 lets the kernel choose one.
int listen_on(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return -1;
  if (::listen(listener, kWorldSize) != 0) return -1;
  socklen_t address_bytes = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &address_bytes);
  std::printf("server: listening on port %d for %d clients\n", ntohs(address.sin_port), kWorldSize);
  return listener;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines at once, also into a pipe
  const int listener = listen_on(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 29400));
  if (listener < 0) return fail("naive_server");

  int clients[kWorldSize];
  float sum[kCount] = {};
  for (int& client : clients) {
    client = ::accept(listener, nullptr, nullptr);
    if (client < 0) return fail("naive_server: accept");
    std::printf("server: a client connected\n");
  }
  for (const int client : clients) {
    float values[kCount];
    if (::recv(client, values, sizeof values, 0) < 0) return fail("naive_server: recv");  // may be a part of them!
    std::printf("server: received [%g, %g, %g]\n", values[0], values[1], values[2]);
    for (int i = 0; i < kCount; ++i) sum[i] += values[i];
  }
  std::printf("server: the sum is [%g, %g, %g]\n", sum[0], sum[1], sum[2]);
  for (const int client : clients) {
    if (::send(client, sum, sizeof sum, MSG_NOSIGNAL) < 0) return fail("naive_server: send");
    ::close(client);
  }
  std::printf("server: sent the sum to %d clients\n", kWorldSize);
  ::close(listener);
}
