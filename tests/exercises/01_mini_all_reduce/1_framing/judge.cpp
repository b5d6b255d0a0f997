#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_01_1 {

using Bytes = std::vector<std::uint8_t>;
using Payloads = std::vector<Bytes>;

Bytes text(std::string_view characters) { return {characters.begin(), characters.end()}; }

// Bytes whose values say where they are; 251 is prime, so no power of two brings them back to where they were.
Bytes counted(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i % 251);
  return bytes;
}

// Frames as they are on the wire.
Bytes on_the_wire(const Payloads& payloads) {
  Bytes bytes;
  for (const Bytes& payload : payloads) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(payload.size() >> shift));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  }
  return bytes;
}

Bytes joined(const Payloads& payloads) {
  Bytes bytes;
  for (const Bytes& payload : payloads) bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

std::vector<std::int64_t> lengths_of(const Payloads& payloads) {
  std::vector<std::int64_t> lengths;
  for (const Bytes& payload : payloads) lengths.push_back(static_cast<std::int64_t>(payload.size()));
  return lengths;
}

// Up to eight bytes from `begin` on, as in "00 00 00 05 ...".
std::string hex(const Bytes& bytes, std::size_t begin) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t end = std::min(bytes.size(), begin + 8);
  std::string shown_bytes;
  for (std::size_t i = begin; i < end; ++i)
    shown_bytes += concat(i == begin ? "" : " ", kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]);
  if (shown_bytes.empty()) return "nothing";
  return end < bytes.size() ? shown_bytes + " ..." : shown_bytes;
}

void compare_bytes(Check& check, const std::string& what, const Bytes& got, const Bytes& expected,
                   const std::string& meaning = "") {
  const auto [left, right] = std::ranges::mismatch(got, expected);
  if (left == got.end() && right == expected.end()) return;
  const auto at = static_cast<std::size_t>(left - got.begin());
  const std::string lengths =
      got.size() == expected.size() ? "" : concat(" (", got.size(), " bytes; ", expected.size(), " were expected)");
  check.wrong(concat(what, " is wrong from byte ", at, " on: expected ", hex(expected, at), ", got ", hex(got, at),
                     meaning, lengths));
}

// An explanation of a wrong length in front of the first frame.
std::string explain_length(const Bytes& wire, std::size_t length) {
  if (wire.size() < 4) return "";
  const std::uint32_t big = std::uint32_t{wire[0]} << 24 | wire[1] << 16 | wire[2] << 8 | wire[3];
  const std::uint32_t little = std::uint32_t{wire[3]} << 24 | wire[2] << 16 | wire[1] << 8 | wire[0];
  if (big == length) return "";
  if (little == length) return ": the length has its least significant byte first";
  if (big == length + 4) return ": the length counts its own four bytes";
  if (big == (length & 0xffff)) return ": the two higher bytes of the length are missing";
  if (wire.size() == length + 8) return ": the length takes eight bytes instead of four";
  if (wire.size() == length + 4 && wire[wire.size() - 1] == (length & 0xff) && wire[wire.size() - 2] == 0)
    return ": the payload comes before the length";
  return "";
}

// Frames that the learner's code sends, read by the judge's own.
void check_sent(Check& check, TrialOptions options, const Payloads& payloads) {
  options.world_size = 2;
  options.question = [&](int rank) {
    if (rank == 1) return nlohmann::json{{"role", "read raw"}};
    return nlohmann::json{{"role", "send frames"},
                          {"bytes", to_message(std::span<const std::uint8_t>(joined(payloads)))},
                          {"lengths", to_message(std::span<const std::int64_t>(lengths_of(payloads)))}};
  };
  const Bytes wire = check.numbers<std::uint8_t>(check.run(options), 1, "bytes");
  Payloads filled = payloads;
  std::erase_if(filled, [](const Bytes& payload) { return payload.empty(); });
  const bool lacks_empty = filled.size() < payloads.size() && wire == on_the_wire(filled);
  compare_bytes(check, "what send_frame() sent", wire, on_the_wire(payloads),
                lacks_empty ? ": an empty payload is a frame, too, of four bytes"
                            : explain_length(wire, payloads.front().size()));
}

// The meaning of a wrong end. @param got  Frames until then. @param expected  All that there are.
// @param rest  Bytes that were left in the stream.
std::string explain_ending(std::size_t got, const std::string& end, const Payloads& expected, const std::string& ending,
                           std::int64_t rest) {
  const bool is_cut_off = ending == "IoError";
  if (end == "too many frames") return "the end of the stream is taken for an empty frame";
  if (got > expected.size() && is_cut_off) return "a part of a payload is taken for a whole one";
  if (got == expected.size()) {
    if (ending == "nullopt" && end == "IoError") return "an end between two frames is no error";
    if (is_cut_off && end == "nullopt") return "the stream ends inside a frame, which is no end between two frames";
    if (ending == "FormatError" && end.starts_with("std::"))
      return "memory for such a payload is asked for: is the length compared as a signed number?";
    if (ending == "FormatError" && end == "IoError")
      return rest == 0 ? "the length is believed, and as many bytes are waited for"
                       : "the length is refused, but with the wrong exception";
    if (ending == "FormatError") return "a length that is too large is an error, not the end of the stream";
    return is_cut_off && end == "FormatError" ? "the length is allowed; what is missing are bytes" : "";
  }
  if (got > expected.size()) return "";
  if (expected[got].empty()) return "an empty payload is a frame, too";
  if (got > 0 && end == "nullopt") return "what arrived together with an earlier frame is lost";
  if (got == 0 && end == "FormatError") {
    const std::size_t length = expected[0].size();
    const bool has_high_byte = (length & 0x80) != 0 || (length >> 8 & 0x80) != 0;
    return concat(
        "the length ", length, " is read as too large a number: ",
        has_high_byte ? "are its bytes read as unsigned ones, the highest first?" : "is its first byte the highest?");
  }
  return end == "IoError" ? "more bytes are waited for than the frame has" : "";
}

// The results of receive_frame() until it found an end.
void check_frames(Check& check, const Outcome& outcome, const Payloads& expected, const std::string& ending) {
  const auto lengths = check.numbers<std::int64_t>(outcome, 1, "lengths");
  const Bytes bytes = check.numbers<std::uint8_t>(outcome, 1, "bytes");
  auto next = bytes.begin();
  for (std::size_t i = 0; i < std::min(lengths.size(), expected.size()); ++i) {
    const Bytes payload(next, next + lengths[i]);
    next += lengths[i];
    compare_bytes(check, concat("the payload of frame ", i), payload, expected[i]);
  }
  const auto end = check.get<std::string>(outcome, 1, "ending");
  const auto frames = [](std::size_t count) { return concat(count, count == 1 ? " frame" : " frames"); };
  if (lengths.size() == expected.size() && end == ending) return;
  const std::int64_t rest = ending == "FormatError" ? check.get<std::int64_t>(outcome, 1, "rest") : 0;
  const std::string meaning = explain_ending(lengths.size(), end, expected, ending, rest);
  check.wrong(concat("receive_frame() should give ", frames(expected.size()), ", then ", ending, "; it gave ",
                     frames(lengths.size()), ", then ", end, meaning.empty() ? "" : concat(": ", meaning)));
}

// Bytes that the judge's own code sends, received by the learner's.
const Outcome& check_received(Check& check, TrialOptions options, const Bytes& wire, const Payloads& expected,
                              const std::string& ending = "nullopt") {
  options.world_size = 2;
  options.question = [&](int rank) {
    if (rank == 1)
      return nlohmann::json{{"role", "receive frames"},
                            {"most", static_cast<int>(expected.size()) + 2},
                            {"wants_rest", ending == "FormatError"}};
    return nlohmann::json{{"role", "write raw"}, {"bytes", to_message(std::span<const std::uint8_t>(wire))}};
  };
  const Outcome& outcome = check.run(options);
  check_frames(check, outcome, expected, ending);
  return outcome;
}

// Twice kLargestPayload: "GET " would do as well, but takes a gigabyte of the wrong programs.
void check_memory(Check& check) {
  const Outcome& outcome = check_received(check, {}, {2, 0, 0, 0, 'G', 'E', 'T'}, {}, "FormatError");
  if (check.get<bool>(outcome, 1, "is_generous"))
    check.wrong("a length of twice kLargestPayload is refused, but only after memory for such a payload was allocated",
                "compare the length with kLargestPayload before you construct or resize the payload");
}

// From the learner's send_frame() to the learner's receive_frame().
void check_both(Check& check, TrialOptions options, const Payloads& payloads) {
  options.world_size = 2;
  options.question = [&](int rank) {
    if (rank == 1)
      return nlohmann::json{
          {"role", "receive frames"}, {"most", static_cast<int>(payloads.size()) + 2}, {"wants_rest", false}};
    return nlohmann::json{{"role", "send frames"},
                          {"bytes", to_message(std::span<const std::uint8_t>(joined(payloads)))},
                          {"lengths", to_message(std::span<const std::int64_t>(lengths_of(payloads)))}};
  };
  check_frames(check, check.run(options), payloads, "nullopt");
}

// A frame that breaks off: in its length, right after it, in its payload.
void check_broken_off(Check& check) {
  const Bytes whole = on_the_wire({text("first"), text("second")});
  for (const std::ptrdiff_t missing : {8, 6, 1})
    check_received(check, {}, Bytes(whole.begin(), whole.end() - missing), {text("first")}, "IoError");
}

}  // namespace checks_01_1

void judge_01_1(Examination& exam) {
  using namespace checks_01_1;
  const Payloads several = {text("ranks"), text("move in"), text(""), text("lockstep")};
  exam.check("send one frame", [](Check& check) { check_sent(check, {}, {text("hello")}); });
  exam.check("receive one frame",
             [](Check& check) { check_received(check, {}, on_the_wire({text("hello")}), {text("hello")}); });
  exam.check("send several frames, one of them empty", [&](Check& check) { check_sent(check, {}, several); });
  exam.check("receive several frames that arrive together",
             [&](Check& check) { check_received(check, {}, on_the_wire(several), several); });
  // 66051 is 0x00010203: no two bytes of the length are equal.
  exam.check("a length of more than one byte", [](Check& check) { check_sent(check, {}, {counted(66051)}); });
  exam.check("a length with a byte of 128 or more", [](Check& check) {
    check_received(check, {}, on_the_wire({counted(200)}), {counted(200)});
    check_received(check, {}, on_the_wire({counted(33000)}), {counted(33000)});
  });
  exam.check("send_some() takes a byte at a time",
             [&](Check& check) { check_sent(check, {.most_at_once = 1}, several); });
  exam.check("receive_some() returns a byte at a time",
             [&](Check& check) { check_received(check, {.most_at_once = 1}, on_the_wire(several), several); });
  exam.check("the stream ends in the middle of a frame", check_broken_off);
  exam.check("a length of one more than kLargestPayload", [](Check& check) {
    check_received(check, {}, {1, 0, 0, 1, 'G', 'E', 'T'}, {}, "FormatError");
  });
  exam.check("a length whose highest bit is set", [](Check& check) {
    check_received(check, {}, {0x80, 0, 0, 1, 'G', 'E', 'T'}, {}, "FormatError");
  });
  exam.check("no memory for a payload that is too large", check_memory);
  exam.check("a length of exactly kLargestPayload", [](Check& check) {
    check_received(check, {}, {1, 0, 0, 0, 'x'}, {}, "IoError");
  });
  exam.check("from send_frame() to receive_frame(), larger than the kernel's buffers", [](Check& check) {
    check_both(check, {.has_small_buffers = true}, {counted(300'000), text(""), counted(66051)});
  });
  exam.full_check("from one to the other, a byte at a time", [](Check& check) {
    check_both(check, {.most_at_once = 1, .has_small_buffers = true}, {counted(1000), text(""), counted(259)});
  });
  exam.full_check("the sender is late", [&](Check& check) { check_both(check, {.delayed_rank = 0}, several); });
  exam.full_check("the receiver is late", [](Check& check) {
    check_both(check, {.has_small_buffers = true, .delayed_rank = 1}, {counted(100'000), counted(3)});
  });
}

}  // namespace lockstep::exercise
