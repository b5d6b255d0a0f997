#include "comm/fingerprint.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::comm {

std::string_view name_of(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProduct:
      return "product";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kMean:
      return "mean";
  }
  return "unknown";
}

std::string_view name_of(Collective collective) noexcept {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kBarrier:
      return "barrier";
    case Collective::kReduce:
      return "reduce";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kGather:
      return "gather";
    case Collective::kScatter:
      return "scatter";
    case Collective::kAllToAll:
      return "all_to_all";
    case Collective::kSend:
      return "send";
    case Collective::kRecv:
      return "recv";
  }
  return "unknown";
}

net::FrameTag to_tag(const Fingerprint& fingerprint) noexcept {
  net::FrameTag tag{};
  tag[0] = static_cast<std::byte>(fingerprint.collective);
  tag[1] = static_cast<std::byte>(fingerprint.op);
  tag[2] = static_cast<std::byte>(fingerprint.dtype);
  const auto root = static_cast<std::uint32_t>(fingerprint.root);
  const auto count = static_cast<std::uint64_t>(fingerprint.count);
  for (std::size_t i = 0; i < 4; ++i) tag[4 + i] = static_cast<std::byte>((root >> (8 * i)) & 0xFF);
  for (std::size_t i = 0; i < 8; ++i) tag[8 + i] = static_cast<std::byte>((count >> (8 * i)) & 0xFF);
  return tag;
}

Fingerprint from_tag(std::uint64_t sequence, const net::FrameTag& tag) {
  net::ByteReader reader(tag);
  const auto collective = reader.get<std::uint8_t>();
  const auto op = reader.get<std::uint8_t>();
  const auto dtype = reader.get<std::uint8_t>();
  const auto padding = reader.get<std::uint8_t>();
  if (collective > static_cast<int>(Collective::kRecv) || op > static_cast<int>(ReduceOp::kMean) ||
      dtype > static_cast<int>(DType::kFloat16) || padding != 0) {
    throw FormatError(concat("\"", net::printable(tag), "\" is no fingerprint of a collective"));
  }
  Fingerprint fingerprint{.sequence = sequence,
                          .collective = static_cast<Collective>(collective),
                          .op = static_cast<ReduceOp>(op),
                          .dtype = static_cast<DType>(dtype)};
  fingerprint.root = reader.get<std::int32_t>();
  fingerprint.count = reader.get<std::int64_t>();
  return fingerprint;
}

std::string short_name(const Fingerprint& fingerprint) {
  return concat(name_of(fingerprint.collective), " #", fingerprint.sequence);
}

std::string describe(const Fingerprint& fingerprint) {
  const std::string name = short_name(fingerprint);
  const std::string elements = concat(fingerprint.count, " ", name_of(fingerprint.dtype));
  switch (fingerprint.collective) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
      return concat(name, " (", name_of(fingerprint.op), " of ", elements, ")");
    case Collective::kReduce:
      return concat(name, " (", name_of(fingerprint.op), " of ", elements, " to rank ", fingerprint.root, ")");
    case Collective::kBroadcast:
    case Collective::kScatter:
    case Collective::kRecv:
      return concat(name, " (", elements, " from rank ", fingerprint.root, ")");
    case Collective::kGather:
    case Collective::kSend:
      return concat(name, " (", elements, " to rank ", fingerprint.root, ")");
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return concat(name, " (", elements, " from each rank)");
    case Collective::kBarrier:
      return name;
  }
  return name;
}

}  // namespace lockstep::comm
