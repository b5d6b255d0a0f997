// naive_client <rank> [port]: sends [1, 2, 3] x (rank + 1) to naive_server and receives the sum over all clients.
// It uses only POSIX calls and has naive_server's faults: a silent server blocks it forever, a short read gives it half
// a sum, and it believes anything that listens on the port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kCount = 3;

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: naive_client <rank> [port]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines at once, also into a pipe
  const int rank = std::atoi(argv[1]);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 29400));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return fail("naive_client");
  std::printf("client %d: connected\n", rank);

  float values[kCount];
  for (int i = 0; i < kCount; ++i) values[i] = static_cast<float>((i + 1) * (rank + 1));
  if (::send(server, values, sizeof values, MSG_NOSIGNAL) < 0) return fail("naive_client: send");
  std::printf("client %d: sent [%g, %g, %g]\n", rank, values[0], values[1], values[2]);

  if (::recv(server, values, sizeof values, 0) < 0) return fail("naive_client: recv");  // may be only part of them!
  std::printf("client %d: received the sum [%g, %g, %g]\n", rank, values[0], values[1], values[2]);
  ::close(server);
}
