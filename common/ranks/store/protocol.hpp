#pragma once
// Messages between store client and server. Internal to this module. docs/wire_format.md describes them.
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "net/frame.hpp"
#include "store/store.hpp"

namespace lockstep::store {

// Values appear on the wire; never renumber.
enum class Operation : std::uint8_t { kSet = 1, kGet = 2, kTryGet = 3, kAdd = 4, kCompareSet = 5, kErase = 6 };

struct Request {
  Operation operation = Operation::kGet;
  std::string key;
  std::string value;     // kSet, kCompareSet: the new value; kAdd: the amount
  std::string expected;  // kCompareSet
};

// Values appear on the wire; never renumber.
enum class Status : std::uint8_t { kOk = 0, kAbsent = 1, kNotAnInteger = 2 };

struct Reply {
  Status status = Status::kOk;
  std::string value;
};

// Limit on unacknowledged data, on both ends: beyond it the other host is unreachable. Longer than any reply may take.
constexpr std::chrono::seconds kLinkLimit{30};

// Key, value and expected value, with their lengths and some margin.
constexpr std::uint64_t kMaxMessageBytes = kMaxKeyBytes + 2 * kMaxValueBytes + 64;

[[nodiscard]] std::vector<std::byte> encode(const Request& request);
[[nodiscard]] std::vector<std::byte> encode(const Reply& reply);
// Throw FormatError for anything that encode() does not produce.
[[nodiscard]] Request decode_request(std::span<const std::byte> bytes);
[[nodiscard]] Reply decode_reply(std::span<const std::byte> bytes);

}  // namespace lockstep::store
