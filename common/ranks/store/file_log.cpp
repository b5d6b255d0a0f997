#include "store/file_log.hpp"

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "store/protocol.hpp"

namespace lockstep::store {
namespace {

constexpr std::size_t kRecordHeaderBytes = 12;  // length u32, and checksum u64 of the rest

LogRecord decode_record(std::span<const std::byte> bytes) {
  net::ByteReader reader(bytes);
  const auto has_value = reader.get<std::uint8_t>();
  LogRecord record{reader.get_text(), std::nullopt};
  if (has_value == 1) record.value = reader.get_text();
  const bool is_sound = has_value <= 1 && !record.key.empty() && record.key.size() <= kMaxKeyBytes &&
                        (!record.value || record.value->size() <= kMaxValueBytes) && reader.rest().empty();
  if (!is_sound) throw FormatError("no record of a file store");
  return record;
}

}  // namespace

std::vector<std::byte> encode(const LogRecord& record) {
  net::ByteWriter body;
  body.put(static_cast<std::uint8_t>(record.value ? 1 : 0)).put_text(record.key);
  if (record.value) body.put_text(*record.value);
  net::ByteWriter whole;
  whole.put(static_cast<std::uint32_t>(body.bytes().size())).put(net::checksum(body.bytes())).put_bytes(body.bytes());
  return whole.take();
}

std::size_t replay(std::span<const std::byte> bytes, std::map<std::string, std::string>& values) {
  std::size_t used = 0;
  while (bytes.size() - used >= kRecordHeaderBytes) {
    net::ByteReader header(bytes.subspan(used));
    const auto length = header.get<std::uint32_t>();
    const auto checksum = header.get<std::uint64_t>();
    if (length > kMaxMessageBytes || length > header.rest().size()) return used;
    const auto body = header.rest().first(length);
    if (net::checksum(body) != checksum) return used;
    try {
      LogRecord record = decode_record(body);
      if (record.value)
        values[record.key] = std::move(*record.value);
      else
        values.erase(record.key);
    } catch (const FormatError&) {
      return used;
    }
    used += kRecordHeaderBytes + length;
  }
  return used;
}

}  // namespace lockstep::store
