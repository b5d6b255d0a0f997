#include "exercise/message.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kHeaderBytes = 8;

std::vector<std::uint8_t> with_length(const std::vector<std::uint8_t>& body) {
  const std::uint64_t length = body.size();
  std::vector<std::uint8_t> all(kHeaderBytes + body.size());
  std::memcpy(all.data(), &length, kHeaderBytes);
  if (!body.empty()) std::memcpy(all.data() + kHeaderBytes, body.data(), body.size());
  return all;
}

std::uint64_t length_in(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kHeaderBytes);
  return length;
}

// True if arrays, maps and tags are nested more deeply than in any valid answer, or there are more than `most_values`.
// The parser recurses for each level, and turns the single byte of an empty map into a hundred bytes: neither must
// crash the judge. The parser checks lengths itself.
bool is_too_complex(std::span<const std::uint8_t> bytes, std::size_t most_values) {
  constexpr std::size_t kMostLevels = 32;
  std::size_t values = 0;
  std::vector<std::uint64_t> open;  // values still missing, per level
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (++values > most_values) return true;
    const std::uint8_t head = bytes[at++];
    const unsigned kind = head >> 5, detail = head & 31;
    if (detail > 27) return true;  // values of indefinite length: never sent here
    const std::size_t more = detail < 24 ? 0 : std::size_t{1} << (detail - 24);
    std::uint64_t argument = detail;
    if (more > 0) argument = 0;
    for (std::size_t i = 0; i < more && at < bytes.size(); ++i) argument = argument << 8 | bytes[at++];
    const bool is_text = kind == 2 || kind == 3;
    if (is_text) at += std::min<std::uint64_t>(argument, bytes.size() - at);
    while (!open.empty() && open.back() == 0) open.pop_back();
    if (!open.empty()) --open.back();
    if (kind == 4) open.push_back(argument);
    if (kind == 5) open.push_back(2 * argument);
    if (kind == 6) open.push_back(1);
    if (open.size() > kMostLevels) return true;
  }
  return false;
}

// CBOR tag for an array's element type; these numbers are private to this protocol.
template <typename T>
constexpr std::uint8_t kTypeTag = 0;
template <>
constexpr std::uint8_t kTypeTag<float> = 100;
template <>
constexpr std::uint8_t kTypeTag<double> = 101;
template <>
constexpr std::uint8_t kTypeTag<std::int32_t> = 102;
template <>
constexpr std::uint8_t kTypeTag<std::int64_t> = 103;
template <>
constexpr std::uint8_t kTypeTag<std::uint8_t> = 104;

}  // namespace

void send_message(int fd, const nlohmann::json& message) {
  (void)send_message_until(fd, message, std::chrono::steady_clock::time_point::max());
}

bool send_message_until(int fd, const nlohmann::json& message, std::chrono::steady_clock::time_point end) {
  const std::vector<std::uint8_t> all = with_length(nlohmann::json::to_cbor(message));
  std::span<const std::uint8_t> rest = all;
  while (!rest.empty()) {
    const ssize_t count = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) rest = rest.subspan(static_cast<std::size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      throw IoError("sending a message between judge and judged process", errno);
    if (std::chrono::steady_clock::now() >= end) return false;
    pollfd writable{fd, POLLOUT, 0};
    ::poll(&writable, 1, 100);
  }
  return true;
}

bool MessageReader::read_from(int fd) {
  while (true) {
    std::uint8_t piece[65536];
    const ssize_t count = ::recv(fd, piece, sizeof piece, MSG_DONTWAIT);
    if (count == 0) return false;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (count < 0 && errno == ECONNRESET) return false;
    if (count < 0) throw IoError("reading a message between judge and judged process", errno);
    bytes_.insert(bytes_.end(), piece, piece + count);
    received_bytes_ += static_cast<std::uint64_t>(count);
    if (bytes_.size() > limits_.bytes + kHeaderBytes) return true;  // longer than any message: take() checks it
  }
}

std::optional<nlohmann::json> MessageReader::take() {
  if (bytes_.size() < kHeaderBytes) return std::nullopt;
  const std::uint64_t length = length_in(bytes_);
  if (length > limits_.bytes) throw FormatError(concat("an answer of ", length, " bytes"));
  if (bytes_.size() < kHeaderBytes + length) return std::nullopt;
  const std::span<const std::uint8_t> body(bytes_.data() + kHeaderBytes, static_cast<std::size_t>(length));
  if (is_too_complex(body, limits_.values))
    throw FormatError("an answer that is nested too deeply, or of too many values");
  nlohmann::json message =
      nlohmann::json::from_cbor(body.begin(), body.end(), true, false, nlohmann::json::cbor_tag_handler_t::store);
  if (message.is_discarded()) throw FormatError("an answer that is not a message");
  taken_bytes_ = body.size();
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + taken_bytes_));
  bytes_.shrink_to_fit();
  return message;
}

template <typename T>
nlohmann::json to_message(std::span<const T> values) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(values.data());
  return nlohmann::json::binary(std::vector<std::uint8_t>(begin, begin + values.size_bytes()), kTypeTag<T>);
}

template <typename T>
bool holds(const nlohmann::json& value) {
  return value.is_binary() && value.get_binary().has_subtype() && value.get_binary().subtype() == kTypeTag<T>;
}

template <typename T>
std::vector<T> numbers_in(const nlohmann::json& value) {
  if (!holds<T>(value)) throw FormatError("an answer has something other than an array");
  const std::vector<std::uint8_t>& bytes = value.get_binary();
  if (bytes.size() % sizeof(T) != 0) throw FormatError("an answer's array is cut off");
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template nlohmann::json to_message(std::span<const float>);
template nlohmann::json to_message(std::span<const double>);
template nlohmann::json to_message(std::span<const std::int32_t>);
template nlohmann::json to_message(std::span<const std::int64_t>);
template nlohmann::json to_message(std::span<const std::uint8_t>);
template bool holds<float>(const nlohmann::json&);
template std::vector<float> numbers_in(const nlohmann::json&);
template bool holds<double>(const nlohmann::json&);
template std::vector<double> numbers_in(const nlohmann::json&);
template std::vector<std::int32_t> numbers_in(const nlohmann::json&);
template std::vector<std::int64_t> numbers_in(const nlohmann::json&);
template std::vector<std::uint8_t> numbers_in(const nlohmann::json&);

}  // namespace lockstep::exercise
