#include <array>
#include <cstdint>

#include "01_mini_all_reduce/1_framing/framing.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"host_byte_order", "the length travels in the byte order of this machine, least significant byte first",
     "Do not copy the integer's memory: compute its four bytes with shifts, the highest first."},
    {"length_counts_itself", "the length counts its own four bytes as well as the payload's",
     "By the header's example, \"hi\" has the length 2."},
    {"sends_once", "send_some() is called once, and what it returns is ignored",
     "send_some() says how many bytes it took. Who sends the others?"},
    {"receives_once", "receive_some() is called once for each part, as if everything had to arrive together",
     "receive_some() says how many bytes arrived. Ask again for those that are still missing."},
    {"reads_into_the_next_frame", "receive_some() is asked for more than one frame, and what comes after it is lost",
     "Ask for four bytes first, and then for exactly as many as the length says."},
    {"fills_up_with_zeros", "the end of the stream inside a payload is not noticed: the missing bytes are zeros",
     "receive_some() returns 0 once the peer has closed. In the middle of a frame that is an IoError."},
    {"reads_host_byte_order", "the length that arrives is taken in the byte order of this machine",
     "Numbers sent with the highest byte first must be read like this: htonl() on one side needs ntohl() on the "
     "other."},
    {"empty_is_the_end", "an empty payload is taken for the end of the stream",
     "A length of 0 is a length. Only a stream that ends where a frame would begin is std::nullopt."},
    {"always_to_the_beginning", "each call of receive_some() writes to the beginning of the buffer again",
     "Keep the bytes that have arrived: the next ones go after them, bytes.subspan(received)."},
    {"cut_off_length_is_the_end", "a stream that ends inside the four bytes of a length is taken for a clean end",
     "Only 0 bytes are a clean end. After 1 to 3 bytes of the length, somebody died while sending: an IoError."},
    {"makes_room_first", "the payload is allocated before its length is checked",
     "Those four bytes may come from a stranger: compare them with kLargestPayload first."},
    {"largest_is_too_large", "a length of exactly kLargestPayload is refused",
     "It is the largest payload that is allowed: only a larger one is a FormatError."},
    {"wrong_exception", "a length that is too large is refused with an IoError",
     "The stream is whole, but what it says makes no sense: that is a FormatError."},
    {"sends_the_beginning_again", "each call of send_some() gets the beginning of the bytes again",
     "Do not send bytes again: go on after those that were sent, bytes.subspan(sent)."},
    {"signed_bytes", "the bytes of the length are taken for signed numbers, so those from 128 on count as negative",
     "Use std::to_integer<std::uint32_t>() or an unsigned char: as a signed char, 0xe0 is -32."},
    {"signed_length", "the length is a signed number, so one of 2^31 or more is negative and passes the comparison",
     "Put the four bytes together in a std::uint32_t: every length is then at least 0."},
    {"believes_any_length", "a length above kLargestPayload is not refused",
     "Check the length before you make room for the payload: those four bytes may come from a stranger."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::framing {

using exercise::is_mistake;

void send_all(Link& link, std::span<const std::byte> bytes) {
  const std::span<const std::byte> whole = bytes;
  while (!bytes.empty()) {
    const std::size_t count =
        link.send_some(is_mistake("sends_the_beginning_again") ? whole.first(bytes.size()) : bytes);
    bytes = bytes.subspan(count);
    if (is_mistake("sends_once")) return;
  }
}

std::size_t receive_all(Link& link, std::span<std::byte> bytes) {
  std::size_t arrived = 0;
  while (arrived < bytes.size()) {
    const bool is_back = is_mistake("always_to_the_beginning");
    const std::size_t count = link.receive_some(is_back ? bytes.first(bytes.size() - arrived) : bytes.subspan(arrived));
    if (count == 0) break;
    arrived += count;
    if (is_mistake("receives_once")) return bytes.size();
  }
  return arrived;
}

namespace {

std::size_t significance_of(std::size_t index) {
  return 8 * (is_mistake("host_byte_order") ? index : kLengthBytes - 1 - index);
}

std::size_t decode(std::span<const std::byte> length) {
  std::size_t count = 0;
  const bool is_reversed = is_mistake("reads_host_byte_order");
  if (is_mistake("signed_bytes")) {
    for (const std::byte byte : length.first(kLengthBytes))
      count = 256 * count + static_cast<std::size_t>(static_cast<signed char>(std::to_integer<int>(byte)));
    return count;
  }
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    count |= std::to_integer<std::size_t>(length[is_reversed ? kLengthBytes - 1 - i : i]) << significance_of(i);
  return is_mistake("length_counts_itself") ? count - kLengthBytes : count;
}

// One large buffer for whatever arrives.
std::optional<std::vector<std::byte>> receive_greedily(Link& link) {
  std::vector<std::byte> buffer(kLengthBytes + kLargestPayload);
  std::size_t arrived = 0;
  while (arrived < kLengthBytes || arrived < kLengthBytes + decode(buffer)) {
    const std::size_t count = link.receive_some(std::span(buffer).subspan(arrived));
    if (count == 0 && arrived == 0) return std::nullopt;
    if (count == 0) throw IoError("the stream ended inside a frame");
    arrived += count;
    if (arrived >= kLengthBytes && decode(buffer) > kLargestPayload) throw FormatError("not one of our frames");
  }
  const auto begin = buffer.begin() + kLengthBytes;
  return std::vector<std::byte>(begin, begin + static_cast<std::ptrdiff_t>(decode(buffer)));
}

}  // namespace

void send_frame(Link& link, std::span<const std::byte> payload) {
  const std::size_t count = payload.size() + (is_mistake("length_counts_itself") ? kLengthBytes : 0);
  std::array<std::byte, kLengthBytes> length{};
  for (std::size_t i = 0; i < kLengthBytes; ++i) length[i] = std::byte(count >> significance_of(i));
  send_all(link, length);
  send_all(link, payload);
}

std::optional<std::vector<std::byte>> receive_frame(Link& link) {
  if (is_mistake("reads_into_the_next_frame")) return receive_greedily(link);
  std::array<std::byte, kLengthBytes> length{};
  const std::size_t arrived = receive_all(link, length);
  if (arrived == 0 || (arrived < kLengthBytes && is_mistake("cut_off_length_is_the_end"))) return std::nullopt;
  if (arrived < kLengthBytes) throw IoError("the stream ended inside a length");
  const std::size_t count = decode(length);
  std::vector<std::byte> payload(is_mistake("makes_room_first") ? count : 0);
  const std::size_t most = kLargestPayload - (is_mistake("largest_is_too_large") ? 1 : 0);
  const bool is_negative = is_mistake("signed_length") && count > INT32_MAX;
  if (count > most && !is_negative && !is_mistake("believes_any_length")) {
    if (is_mistake("wrong_exception")) throw IoError("not one of our frames");
    throw FormatError("not one of our frames");
  }
  if (count == 0 && is_mistake("empty_is_the_end")) return std::nullopt;
  payload.resize(is_negative ? SIZE_MAX : count);
  if (receive_all(link, payload) < count && !is_mistake("fills_up_with_zeros"))
    throw IoError("the stream ended inside a payload");
  return payload;
}

}  // namespace lockstep::framing
