#include "exercise/subject.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "01_mini_all_reduce/1_framing/framing.hpp"

namespace {

std::size_t largest_request = 0;                          // of memory, in bytes; this program has one thread
constexpr std::size_t kRefused = std::size_t{256} << 20;  // nobody needs that much, and a judge may have less

}  // namespace

// Replaced, so that the judge can see whether room is made for a payload that is refused.
void* operator new(std::size_t bytes) {
  largest_request = std::max(largest_request, bytes);
  if (bytes > kRefused) throw std::bad_alloc();
  if (void* const memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace lockstep::exercise {
namespace {

// Writes the judge's bytes, not the learner's, then closes.
Answer write_raw(Link& link, const std::vector<std::uint8_t>& bytes) {
  link.send(std::as_bytes(std::span(bytes)));
  link.close();
  return {};
}

// Everything that arrives until the peer closes.
std::vector<std::uint8_t> read_to_end(Link& link) {
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 4096> part{};
  while (const std::size_t count = link.receive_some(std::as_writable_bytes(std::span(part))))
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
  return bytes;
}

Answer read_raw(Link& link) {
  Answer result;
  result.set_numbers<std::uint8_t>("bytes", read_to_end(link));
  return result;
}

// The payloads follow each other in `bytes`.
Answer send_frames(Link& link, const std::vector<std::uint8_t>& bytes, const std::vector<std::int64_t>& lengths) {
  std::span<const std::byte> rest = std::as_bytes(std::span(bytes));
  for (const std::int64_t length : lengths) {
    framing::send_frame(link, rest.first(static_cast<std::size_t>(length)));
    rest = rest.subspan(static_cast<std::size_t>(length));
  }
  link.close();
  return {};
}

// @param wants_rest  Also say whether room was made for the payload, and how many bytes have been left in the stream.
Answer receive_frames(Link& link, std::size_t most, bool wants_rest) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> lengths;
  std::string ending = "too many frames";
  largest_request = 0;
  try {
    while (lengths.size() < most) {
      const auto payload = framing::receive_frame(link);
      if (!payload) {
        ending = "nullopt";
        break;
      }
      lengths.push_back(static_cast<std::int64_t>(payload->size()));
      std::ranges::transform(*payload, std::back_inserter(bytes), [](std::byte b) { return std::uint8_t(b); });
    }
  } catch (const IoError&) {
    ending = "IoError";
  } catch (const FormatError&) {
    ending = "FormatError";
  } catch (const std::bad_alloc&) {
    ending = "std::bad_alloc";
  } catch (const std::length_error&) {
    ending = "std::length_error";
  }
  // A fixed buffer for any payload that is allowed may be a little larger than one.
  const bool is_generous = largest_request > framing::kLargestPayload + (std::size_t{1} << 20);
  const std::size_t rest = read_to_end(link).size();  // so that the other rank can always finish
  Answer result;
  if (wants_rest) {
    result.set("is_generous", is_generous);
    result.set("rest", static_cast<std::int64_t>(rest));
  }
  result.set_numbers<std::uint8_t>("bytes", bytes);
  result.set_numbers<std::int64_t>("lengths", lengths);
  result.set("ending", ending);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  const auto role = question.get<std::string>("role");
  Link& link = question.link(1 - question.rank());
  if (role == "write raw") return write_raw(link, question.numbers<std::uint8_t>("bytes"));
  if (role == "read raw") return read_raw(link);
  if (role == "receive frames")
    return receive_frames(link, static_cast<std::size_t>(question.get<int>("most")), question.get<bool>("wants_rest"));
  return send_frames(link, question.numbers<std::uint8_t>("bytes"), question.numbers<std::int64_t>("lengths"));
}

}  // namespace lockstep::exercise
