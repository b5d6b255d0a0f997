#include "store/tcp_store.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/handshake.hpp"
#include "store/protocol.hpp"

namespace lockstep::store {
namespace {

// Time for a request that depends on no other rank: the server answers at once unless its process is gone.
constexpr std::chrono::seconds kReplyLimit{15};
// How much later than a get()'s deadline its reply may come.
constexpr std::chrono::seconds kLateReply{1};

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

std::optional<TcpStore::Answer> TcpStore::try_call(const Request& request, const Deadline& deadline) {
  require(!request.key.empty() && request.key.size() <= kMaxKeyBytes && request.value.size() <= kMaxValueBytes &&
              request.expected.size() <= kMaxValueBytes,
          "store: key of ", request.key.size(), " or value of ", request.value.size(), " bytes (1 to ", kMaxKeyBytes,
          " and 0 to ", kMaxValueBytes, " are allowed)");
  const std::scoped_lock lock(mutex_);
  if (is_broken_) throw IoError(concat(socket_.peer(), ": the connection failed in an earlier call"));
  is_broken_ = true;  // until no message is halfway
  net::FrameHeader header{.type = net::FrameType::kStoreRequest, .generation = generation_, .source_rank = rank_};
  header.sequence = next_request_++;
  net::send_frame(socket_, header, encode(request), deadline);
  for (;;) {
    if (!socket_.wait_readable(deadline)) {
      is_broken_ = false;
      return std::nullopt;
    }
    const net::FrameLimits limits{kMaxMessageBytes, generation_};
    const net::Frame frame = net::receive_frame(socket_, limits, Deadline::after(kReplyLimit));
    const bool is_reply = frame.header.type == net::FrameType::kStoreReply;
    if (is_reply && frame.header.sequence < header.sequence) continue;  // of a call that no longer waits
    if (!is_reply || frame.header.sequence != header.sequence) {
      throw FormatError(
          concat(socket_.peer(), " answered request ", header.sequence, " with frame ", frame.header.sequence));
    }
    Reply reply = decode_reply(frame.payload);
    is_broken_ = false;
    return Answer{reply.status, std::move(reply.value)};
  }
}

TcpStore::Answer TcpStore::call(const Request& request) {
  const auto deadline = Deadline::after(kReplyLimit);
  auto answer = try_call(request, deadline);
  if (!answer) fail_silent(request.key, deadline);
  return std::move(*answer);
}

void TcpStore::fail_silent(const std::string& key, const Deadline& deadline) const {
  throw TimeoutError(concat("no reply about ", key, " from ", socket_.peer(), " for ",
                            format_seconds(deadline.waited()), " (is its process stopped, or its host gone?)"));
}

void TcpStore::set(const std::string& key, const std::string& value) { call({Operation::kSet, key, value, {}}); }

std::optional<std::string> TcpStore::try_get(const std::string& key) {
  Answer answer = call({Operation::kTryGet, key, {}, {}});
  if (answer.status == Status::kAbsent) return std::nullopt;
  return std::move(answer.value);
}

std::string TcpStore::get(const std::string& key, const Deadline& deadline) {
  // The server holds a kGet for a while and then answers kAbsent. If it does not, its process may be stopped; asking
  // again shows if its host is gone.
  using std::chrono::milliseconds;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline.remaining());
    const auto parked = std::min<milliseconds>(left, std::chrono::seconds{1});
    const auto later = std::min<milliseconds>(left - parked, kReplyLimit) + kLateReply;
    auto answer = try_call({Operation::kGet, key, std::to_string(parked.count()), {}}, Deadline::after(parked + later));
    if (answer && answer->status == Status::kOk) return std::move(answer->value);
    if (!deadline.has_expired()) continue;
    if (!answer) fail_silent(key, deadline);
    throw TimeoutError(concat("store: nobody set ", key, " within ", format_seconds(deadline.waited())));
  }
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
  const Answer answer = call({Operation::kAdd, key, std::to_string(amount), {}});
  if (answer.status == Status::kNotAnInteger)
    throw FormatError(concat("store: the value of ", key, " is not an integer"));
  return std::stoll(answer.value);
}

std::string TcpStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return call({Operation::kCompareSet, key, desired, expected}).value;
}

bool TcpStore::erase(const std::string& key) { return call({Operation::kErase, key, {}, {}}).status == Status::kOk; }

}  // namespace lockstep::store
