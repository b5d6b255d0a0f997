#include "store/protocol.hpp"

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::store {
namespace {

void check_is_used_up(const net::ByteReader& reader) {
  if (!reader.rest().empty()) throw FormatError(concat("store message has ", reader.rest().size(), " bytes too many"));
}

}  // namespace

std::vector<std::byte> encode(const Request& request) {
  net::ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(request.operation));
  return writer.put_text(request.key).put_text(request.value).put_text(request.expected).take();
}

std::vector<std::byte> encode(const Reply& reply) {
  net::ByteWriter writer;
  return writer.put(static_cast<std::uint8_t>(reply.status)).put_text(reply.value).take();
}

Request decode_request(std::span<const std::byte> bytes) {
  net::ByteReader reader(bytes);
  Request request;
  const auto operation = reader.get<std::uint8_t>();
  if (operation < 1 || operation > static_cast<int>(Operation::kErase)) {
    throw FormatError(concat("unknown store operation ", static_cast<int>(operation)));
  }
  request.operation = static_cast<Operation>(operation);
  request.key = reader.get_text();
  request.value = reader.get_text();
  request.expected = reader.get_text();
  check_is_used_up(reader);
  if (request.key.size() > kMaxKeyBytes || request.value.size() > kMaxValueBytes) {
    throw FormatError(
        concat("store key of ", request.key.size(), " or value of ", request.value.size(), " bytes is too long"));
  }
  return request;
}

Reply decode_reply(std::span<const std::byte> bytes) {
  net::ByteReader reader(bytes);
  Reply reply;
  reply.status = static_cast<Status>(reader.get<std::uint8_t>());
  reply.value = reader.get_text();
  check_is_used_up(reader);
  return reply;
}

}  // namespace lockstep::store
