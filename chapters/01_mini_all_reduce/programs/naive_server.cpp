// naive_server [port] [count]: sums the values of four clients, using only POSIX calls. Start it, then naive_client 0
// .. 3. It shows the idea and has faults; break_it shows each of them, and which layer of common/ranks/net fixes it:
//   short reads       recv() may return part of the bytes; the sum is wrong, without an error
//   a silent client   a client that connects and sends nothing blocks everyone forever
//   garbage           any 12 bytes are three floats, whatever they mean and wherever they come from
//   an open port      the first to connect counts as a rank
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kWorldSize = 4;

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

// "server: received [1, 2, 3]"; with more than three values, the first three and the last.
void show(const char* what, const std::vector<float>& values) {
  std::printf("server: %s [%g, %g, %g", what, values[0], values[1], values[2]);
  if (values.size() > 3) std::printf(", ..., %g", values.back());
  std::printf("]\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines at once, also into a pipe
  const int listener = listen_on(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 29400));
  if (listener < 0) return fail("naive_server");

  const std::size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 3;
  const std::size_t bytes = count * sizeof(float);

  int clients[kWorldSize];
  for (int& client : clients) {
    client = ::accept(listener, nullptr, nullptr);
    if (client < 0) return fail("naive_server: accept");
    std::printf("server: a client connected\n");
  }
  std::vector<float> sum(count);
  for (const int client : clients) {
    std::vector<float> values(count);
    if (::recv(client, values.data(), bytes, 0) < 0) return fail("naive_server: recv");  // may be only part of them!
    show("received", values);
    for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  show("the sum is", sum);
  for (const int client : clients) {
    if (::send(client, sum.data(), bytes, MSG_NOSIGNAL) < 0) return fail("naive_server: send");
    ::close(client);
  }
  std::printf("server: sent the sum to %d clients\n", kWorldSize);
  ::close(listener);
}
