#include "store/tcp_store.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/handshake.hpp"
#include "store/protocol.hpp"

namespace lockstep::store {
namespace {

// Time for a request that depends on no other rank: the server answers at once unless its process is gone.
constexpr std::chrono::seconds kReplyLimit{15};

net::Identity client_identity(int generation, int rank) {
  return {net::Role::kStore, static_cast<std::uint32_t>(generation), rank, 0};
}

}  // namespace

struct TcpStore::Answer {
  Status status = Status::kOk;
  std::string value;
};

TcpStore::TcpStore(const net::SocketAddress& address, const std::string& token, int generation, int rank,
                   const Deadline& deadline)
    : socket_(net::connect_authenticated(address, token, client_identity(generation, rank), "store", deadline)),
      generation_(static_cast<std::uint32_t>(generation)),
      rank_(rank) {
  socket_.set_user_timeout(kLinkLimit);
}

TcpStore::Answer TcpStore::call(const Request& request, const Deadline& deadline) {
  require(!request.key.empty() && request.key.size() <= kMaxKeyBytes && request.value.size() <= kMaxValueBytes &&
              request.expected.size() <= kMaxValueBytes,
          "store: key of ", request.key.size(), " or value of ", request.value.size(), " bytes (1 to ", kMaxKeyBytes,
          " and 0 to ", kMaxValueBytes, " are allowed)");
  const std::scoped_lock lock(mutex_);
  if (is_broken_) throw IoError(concat(socket_.peer(), ": the connection failed in an earlier call"));
  is_broken_ = true;  // until the reply is complete
  net::FrameHeader header{.type = net::FrameType::kStoreRequest, .generation = generation_, .source_rank = rank_};
  header.sequence = next_request_++;
  net::send_frame(socket_, header, encode(request), deadline);
  const net::FrameLimits limits{kMaxMessageBytes, generation_};
  const net::Frame frame = net::receive_frame(socket_, limits, deadline);
  if (frame.header.type != net::FrameType::kStoreReply || frame.header.sequence != header.sequence) {
    throw FormatError(
        concat(socket_.peer(), " answered request ", header.sequence, " with frame ", frame.header.sequence));
  }
  Reply reply = decode_reply(frame.payload);
  is_broken_ = false;
  return {reply.status, std::move(reply.value)};
}

void TcpStore::set(const std::string& key, const std::string& value) {
  call({Operation::kSet, key, value, {}}, Deadline::after(kReplyLimit));
}

std::optional<std::string> TcpStore::try_get(const std::string& key) {
  Answer answer = call({Operation::kTryGet, key, {}, {}}, Deadline::after(kReplyLimit));
  if (answer.status == Status::kAbsent) return std::nullopt;
  return std::move(answer.value);
}

std::string TcpStore::get(const std::string& key, const Deadline& deadline) {
  // The server holds a kGet for a while and then answers kAbsent, so that a reply always comes and the connection stays
  // usable after a timeout.
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.remaining());
    const auto parked = std::min<std::chrono::milliseconds>(left, std::chrono::seconds{1});
    const Request request{Operation::kGet, key, std::to_string(parked.count()), {}};
    Answer answer = call(request, Deadline::after(parked + kReplyLimit));
    if (answer.status == Status::kOk) return std::move(answer.value);
    if (!deadline.has_expired()) continue;
    throw TimeoutError(concat("store: nobody set ", key, " within ", format_seconds(deadline.waited())));
  }
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
  const Answer answer = call({Operation::kAdd, key, std::to_string(amount), {}}, Deadline::after(kReplyLimit));
  if (answer.status == Status::kNotAnInteger)
    throw FormatError(concat("store: the value of ", key, " is not an integer"));
  return std::stoll(answer.value);
}

std::string TcpStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return call({Operation::kCompareSet, key, desired, expected}, Deadline::after(kReplyLimit)).value;
}

bool TcpStore::erase(const std::string& key) {
  return call({Operation::kErase, key, {}, {}}, Deadline::after(kReplyLimit)).status == Status::kOk;
}

}  // namespace lockstep::store
