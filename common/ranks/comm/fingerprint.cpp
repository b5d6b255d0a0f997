#include "comm/fingerprint.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::comm {
namespace {

// "unit h.3"; "a tag of hash 0x2f0a11" if the text is not known; empty without a tag.
std::string tag_name(const CallTag& tag) {
  if (!tag.is_given()) return "";
  if (!tag.text().empty()) return std::string(tag.text());
  std::ostringstream text;
  text << "a tag of hash 0x" << std::hex << tag.hash();
  return std::move(text).str();
}

// "sum of 1000 float32", "20 int64 from rank 1"; empty for a barrier.
std::string elements_of(const Fingerprint& fingerprint) {
  const std::string elements = concat(fingerprint.count, " ", name_of(fingerprint.dtype));
  switch (fingerprint.collective) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
      return concat(name_of(fingerprint.op), " of ", elements);
    case Collective::kReduce:
      return concat(name_of(fingerprint.op), " of ", elements, " to rank ", fingerprint.root);
    case Collective::kBroadcast:
    case Collective::kScatter:
    case Collective::kRecv:
      return concat(elements, " from rank ", fingerprint.root);
    case Collective::kGather:
    case Collective::kSend:
      return concat(elements, " to rank ", fingerprint.root);
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return concat(elements, " from each rank");
    case Collective::kBarrier:
      break;
  }
  return "";
}

}  // namespace

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

CallTag::CallTag(std::string_view text) {
  require(is_possible(text), "the tag of a call, \"", net::printable(net::as_bytes(text)), "\" (", text.size(),
          " bytes), is not printable ASCII of at most ", kMaxBytes);
  if (text.empty()) return;
  std::ranges::copy(text, text_.begin());
  size_ = static_cast<std::uint8_t>(text.size());
  const std::uint64_t bits = net::checksum(net::as_bytes(text));
  const std::uint64_t low = bits % 255 + 1;  // 1 to 255: 0 means no tag
  hash_ = static_cast<std::uint32_t>((bits >> 48) << 8 | low);
}

bool CallTag::is_possible(std::string_view text) noexcept {
  return text.size() <= kMaxBytes && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

CallTag CallTag::of_hash(std::uint32_t hash) noexcept {
  CallTag tag;
  tag.hash_ = hash;
  return tag;
}

// Ranks fit into 16 bits, so the upper half of the root's field is free for the tag's hash.
net::FrameTag to_tag(const Fingerprint& fingerprint) noexcept {
  const std::uint32_t hash = fingerprint.tag.hash();
  net::FrameTag tag{};
  tag[0] = static_cast<std::byte>(fingerprint.collective);
  tag[1] = static_cast<std::byte>(fingerprint.op);
  tag[2] = static_cast<std::byte>(fingerprint.dtype);
  tag[3] = static_cast<std::byte>(hash & 0xFF);
  const auto rank = static_cast<std::uint32_t>(fingerprint.root);
  const std::uint32_t root = fingerprint.tag.is_given() ? (rank & 0xFFFF) | (hash >> 8) << 16 : rank;
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
  const auto hash = reader.get<std::uint8_t>();
  if (collective > static_cast<int>(Collective::kRecv) || op > static_cast<int>(ReduceOp::kMean) ||
      dtype > static_cast<int>(DType::kFloat16)) {
    throw FormatError(concat("\"", net::printable(tag), "\" is not the fingerprint of a collective"));
  }
  Fingerprint fingerprint{.sequence = sequence,
                          .collective = static_cast<Collective>(collective),
                          .op = static_cast<ReduceOp>(op),
                          .dtype = static_cast<DType>(dtype)};
  const auto root = reader.get<std::uint32_t>();
  fingerprint.root = static_cast<std::int32_t>(hash == 0 ? root : root & 0xFFFF);
  if (hash != 0) fingerprint.tag = CallTag::of_hash((root >> 16) << 8 | hash);
  fingerprint.count = reader.get<std::int64_t>();
  return fingerprint;
}

std::string short_name(const Fingerprint& fingerprint) {
  const std::string tag = tag_name(fingerprint.tag);
  return concat(name_of(fingerprint.collective), " #", fingerprint.sequence, tag.empty() ? "" : concat(" (", tag, ")"));
}

std::string describe(const Fingerprint& fingerprint) {
  const std::string elements = elements_of(fingerprint);
  if (elements.empty()) return short_name(fingerprint);
  const std::string tag = tag_name(fingerprint.tag);
  return concat(name_of(fingerprint.collective), " #", fingerprint.sequence, " (", tag, tag.empty() ? "" : "; ",
                elements, ")");
}

}  // namespace lockstep::comm
