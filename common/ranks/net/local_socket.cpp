#include "net/local_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace lockstep::net {
namespace {

using namespace std::chrono_literals;

constexpr std::byte kMark{0x4C};  // a descriptor cannot be sent without a byte

// Abstract addresses begin with a zero byte, which is written '@'; unix(7).
constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);

UniqueFd make_socket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) throw IoError("socket between processes of this host", errno);
  return fd;
}

// Space for one descriptor in a message, aligned as the kernel requires.
struct alignas(cmsghdr) ControlSpace {
  std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes{};
};

struct MarkMessage {
  std::byte mark = kMark;
  iovec part{&mark, 1};
  ControlSpace control;
  msghdr header{};

  MarkMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
  }
  MarkMessage(const MarkMessage&) = delete;  // header points into it
  MarkMessage& operator=(const MarkMessage&) = delete;
};

bool is_worth_waiting(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

TcpListener listen_local() {
  UniqueFd fd = make_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Only the family: the kernel picks a free abstract name.
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    throw IoError("cannot listen for processes of this host", errno);
  }
  socklen_t bytes = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) throw IoError("getsockname", errno);
  const std::string name(address.sun_path + 1, bytes - kPathOffset - 1);  // after the zero byte
  return {std::move(fd), SocketAddress{"@" + name, 0}};
}

StreamSocket connect_local(const std::string& address, const Deadline& deadline) {
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  if (address.size() < 2 || address[0] != '@' || address.size() > sizeof raw.sun_path) {
    throw FormatError(concat("'", address, "' is not an abstract local address"));
  }
  std::memcpy(raw.sun_path + 1, address.data() + 1, address.size() - 1);  // '@' stands for the zero byte
  const auto bytes = static_cast<socklen_t>(kPathOffset + address.size());
  UniqueFd fd = make_socket();
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&raw), bytes) != 0) {
    if (!is_worth_waiting(errno)) throw IoError(concat("connecting to ", address, " on this host"), errno);
    if (deadline.has_expired()) throw TimeoutError(concat("connecting to ", address, ": its queue stays full"));
    std::this_thread::sleep_for(5ms);
  }
  return StreamSocket(std::move(fd), address);
}

void send_descriptor(StreamSocket& socket, int fd, const Deadline& deadline) {
  MarkMessage message;
  cmsghdr* const entry = CMSG_FIRSTHDR(&message.header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(entry), &fd, sizeof fd);
  while (::sendmsg(socket.fd(), &message.header, MSG_NOSIGNAL) != 1) {
    if (!is_worth_waiting(errno)) throw IoError(concat("sending a descriptor to ", socket.peer()), errno);
    if (!socket.wait_writable(deadline)) throw TimeoutError(concat(socket.peer(), " takes no descriptor"));
  }
}

UniqueFd receive_descriptor(StreamSocket& socket, const Deadline& deadline) {
  MarkMessage message;
  message.header.msg_controllen = CMSG_LEN(sizeof(int));  // one descriptor: with its padding, two would fit
  for (;;) {
    const ssize_t received = ::recvmsg(socket.fd(), &message.header, MSG_CMSG_CLOEXEC);
    if (received == 1) break;
    if (received == 0) throw IoError(concat(socket.peer(), " closed the connection before it sent a descriptor"));
    if (!is_worth_waiting(errno)) throw IoError(concat("receiving a descriptor from ", socket.peer()), errno);
    if (!socket.wait_readable(deadline)) {
      throw TimeoutError(concat("no descriptor from ", socket.peer(), " for ", format_seconds(deadline.waited())));
    }
  }
  const cmsghdr* const entry = CMSG_FIRSTHDR(&message.header);
  const bool is_descriptor = entry != nullptr && entry->cmsg_level == SOL_SOCKET && entry->cmsg_type == SCM_RIGHTS &&
                             entry->cmsg_len == CMSG_LEN(sizeof(int));
  int fd = -1;
  if (is_descriptor) std::memcpy(&fd, CMSG_DATA(entry), sizeof fd);
  UniqueFd owned(fd);
  if (entry == nullptr && (message.header.msg_flags & MSG_CTRUNC) != 0) {  // it came, and found no place
    throw IoError(concat("receiving a descriptor from ", socket.peer(), " (ulimit -n raises their number)"), EMFILE);
  }
  const bool has_more = (message.header.msg_flags & MSG_CTRUNC) != 0;  // the kernel has closed the others
  if (!owned.is_open() || has_more || message.mark != kMark) {
    throw FormatError(concat(socket.peer(), " sent something other than a descriptor"));
  }
  return owned;
}

}  // namespace lockstep::net
