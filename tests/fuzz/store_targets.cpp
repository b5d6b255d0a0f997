#include "fuzz/store_targets.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "store/file_log.hpp"
#include "store/protocol.hpp"

namespace lockstep::fuzz {

// An accepted message must be one that the writer makes: no two ways to say the same, nothing hidden behind a message.
void run_store_protocol(Input input) {
  try {
    const store::Request request = store::decode_request(input);
    finding_unless(request.key.size() <= store::kMaxKeyBytes, "too long a key was accepted");
    finding_unless(std::ranges::equal(store::encode(request), input), "a request reads as what it is not");
  } catch (const FormatError&) {
  }
  try {
    const store::Reply reply = store::decode_reply(input);
    finding_unless(static_cast<int>(reply.status) <= 2, "an unknown status was accepted");
    finding_unless(std::ranges::equal(store::encode(reply), input), "a reply reads as what it is not");
  } catch (const FormatError&) {
  }
}

Seeds store_protocol_seeds() {
  using store::Operation;
  return {store::encode(store::Request{Operation::kSet, "key", "value", ""}),
          store::encode(store::Request{Operation::kGet, "key", "1000", ""}),
          store::encode(store::Request{Operation::kAdd, "sum", "-3", ""}),
          store::encode(store::Request{Operation::kCompareSet, "key", "new", "old"}),
          store::encode(store::Request{Operation::kErase, "key", "", ""}),
          store::encode(store::Reply{store::Status::kOk, "value"}),
          store::encode(store::Reply{store::Status::kNotAnInteger, ""})};
}

// A file of a store: what is read before the first damage is what it was, and reading again from there finds nothing.
void run_file_log(Input input) {
  std::map<std::string, std::string> values;
  const std::size_t used = store::replay(input, values);
  finding_unless(used <= input.size(), "more was read than there is");
  for (const auto& [key, value] : values) {
    finding_unless(!key.empty() && key.size() <= store::kMaxKeyBytes && value.size() <= store::kMaxValueBytes,
                   "a key or value beyond the limits");
  }
  std::map<std::string, std::string> again;
  finding_unless(store::replay(input.first(used), again) == used && again == values, "reading again reads otherwise");
  finding_unless(store::replay(input.subspan(used), again) == 0 && again == values, "damage was skipped");
  // Checksums keep random bytes out: the same bytes as the body of a record whose checksum is right.
  net::ByteWriter record;
  record.put(static_cast<std::uint32_t>(input.size())).put(net::checksum(input)).put_bytes(input);
  values.clear();
  const std::size_t taken = store::replay(record.bytes(), values);
  finding_unless(taken == 0 || taken == record.bytes().size(), "half a record was taken");
  if (taken == 0 || values.empty()) return;
  const store::LogRecord read{values.begin()->first, values.begin()->second};
  finding_unless(store::encode(read) == record.bytes(), "a record reads as what it is not");
}

Seeds file_log_seeds() {
  const auto set = store::encode(store::LogRecord{"key", "value"});
  const auto erase = store::encode(store::LogRecord{"key", std::nullopt});
  net::ByteWriter both;
  both.put_bytes(set).put_bytes(erase).put_bytes(std::span(set).first(20));
  constexpr std::size_t kRecordHeaderBytes = 12;  // bodies alone, for the second half of the target
  const auto body_of = [](const std::vector<std::byte>& record) {
    const auto body = std::span(record).subspan(kRecordHeaderBytes);
    return std::vector<std::byte>(body.begin(), body.end());
  };
  return {set, erase, both.take(), body_of(set), body_of(erase)};
}

}  // namespace lockstep::fuzz
