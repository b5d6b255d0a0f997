#include "store/protocol.hpp"

#include <algorithm>

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
  const std::size_t longest = std::max(request.value.size(), request.expected.size());
  if (request.key.size() > kMaxKeyBytes || longest > kMaxValueBytes) {
    throw FormatError(concat("store key of ", request.key.size(), " or value of ", longest, " bytes is too long"));
  }
  return request;
}

Reply decode_reply(std::span<const std::byte> bytes) {
  net::ByteReader reader(bytes);
  Reply reply;
  const auto status = reader.get<std::uint8_t>();
  if (status > static_cast<int>(Status::kNotAnInteger)) {
    throw FormatError(concat("unknown store status ", static_cast<int>(status)));
  }
  reply.status = static_cast<Status>(status);
  reply.value = reader.get_text();
  check_is_used_up(reader);
  return reply;
}

}  // namespace lockstep::store
