#include "emulated_nccl/unique_id.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <sstream>

#include "emulated_nccl/failure.hpp"
#include "net/interfaces.hpp"
#include "net/token.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::emulated_nccl {
namespace {

constexpr const char* kFirstWord = "lockstep-emulated-nccl";

struct Service {
  std::mutex mutex;
  std::unique_ptr<store::TcpStoreServer> server;
  std::string token;
  int ids = 0;
};

Service& service() {
  static auto* const kept = new Service;
  return *kept;
}

}  // namespace

// The id is text: a marker, token, number, address.
ncclUniqueId make_unique_id() {
  Service& serving = service();
  const std::scoped_lock lock(serving.mutex);
  if (!serving.server) {
    const std::string host = net::given_bind_address().value_or("127.0.0.1");
    serving.token = net::make_token();
    serving.server = std::make_unique<store::TcpStoreServer>(net::SocketAddress{host, 0}, serving.token);
  }
  const std::string text =
      concat(kFirstWord, " ", serving.token, " ", serving.ids++, " ", serving.server->address().text());
  ncclUniqueId id{};
  nccl_require(text.size() < sizeof(id.internal), ncclSystemError, "the address ", serving.server->address().text(),
               " is too long for an id: set LOCKSTEP_BIND_ADDRESS to a number");
  std::copy(text.begin(), text.end(), id.internal);
  return id;
}

MeetingPoint read_unique_id(const ncclUniqueId& id) {
  const std::string text(id.internal, std::find(id.internal, std::end(id.internal), '\0'));
  std::istringstream words(text);
  std::string first, token, number, address;
  words >> first >> token >> number >> address;
  nccl_require(words && first == kFirstWord, ncclInvalidArgument,
               "the id does not come from ncclGetUniqueId() of the emulator's NCCL");
  return {net::SocketAddress::parse(address), token, concat("nccl/", number)};
}

void stop_serving() noexcept {
  Service& serving = service();
  const std::scoped_lock lock(serving.mutex);
  serving.server.reset();
}

}  // namespace lockstep::emulated_nccl
