#include "comm/control/wire.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxMessageText = 16 * 1024;

// The text of a tag follows only if there is one.
void put(net::ByteWriter& writer, const Fingerprint& fingerprint) {
  writer.put(fingerprint.sequence).put_bytes(to_tag(fingerprint));
  if (fingerprint.tag.is_given()) writer.put_text(fingerprint.tag.text());
}

CallTag get_call_tag(net::ByteReader& reader, const CallTag& expected) {
  const std::string text = reader.get_text();
  if (!CallTag::is_possible(text)) throw FormatError("control message: no text of a tag");
  const CallTag tag(text);
  if (tag != expected) throw FormatError(concat("control message: \"", text, "\" has another hash"));
  return tag;
}

Fingerprint get_fingerprint(net::ByteReader& reader) {
  const auto sequence = reader.get<std::uint64_t>();
  net::FrameTag tag{};
  std::ranges::copy(reader.get_bytes(tag.size()), tag.begin());
  Fingerprint fingerprint = from_tag(sequence, tag);
  if (fingerprint.tag.is_given()) fingerprint.tag = get_call_tag(reader, fingerprint.tag);
  return fingerprint;
}

// Accepts only the form that encode() writes.
bool get_flag(net::ByteReader& reader) {
  const auto flag = reader.get<std::uint8_t>();
  if (flag > 1) throw FormatError(concat("control message: ", static_cast<int>(flag), " is neither yes nor no"));
  return flag == 1;
}

void put(net::ByteWriter& writer, const std::optional<Fingerprint>& fingerprint) {
  writer.put(static_cast<std::uint8_t>(fingerprint ? 1 : 0));
  if (fingerprint) put(writer, *fingerprint);
}

std::optional<Fingerprint> get_optional_fingerprint(net::ByteReader& reader) {
  if (!get_flag(reader)) return std::nullopt;
  return get_fingerprint(reader);
}

void put(net::ByteWriter& writer, const GroupStatus& status) {
  put(writer, status.issued);
  put(writer, status.running);
  writer.put(static_cast<std::uint8_t>(status.ended.size()));
  for (const Fingerprint& ended : status.ended) put(writer, ended);
  writer.put(std::int64_t{status.running_for.count()});
  writer.put(static_cast<std::uint32_t>(status.pairs.size()));
  for (const PairStatus& pair : status.pairs) {
    put(writer, pair.operation);
    writer.put(std::int64_t{pair.running_for.count()});
  }
  writer.put(static_cast<std::uint32_t>(status.begun.size()));
  for (const auto& [end, count] : status.begun) {
    writer.put(static_cast<std::uint8_t>(end.first)).put(std::int32_t{end.second}).put(count);
  }
}

// A running time: bounded, because it would overflow when converted to nanoseconds.
std::chrono::milliseconds get_duration(net::ByteReader& reader) {
  constexpr std::int64_t kLongest = 1'000'000'000'000;  // about 32 years
  const auto count = reader.get<std::int64_t>();
  if (count < 0 || count > kLongest) throw FormatError(concat("control message: a wait of ", count, " ms"));
  return std::chrono::milliseconds(count);
}

Collective get_direction(net::ByteReader& reader) {
  const auto direction = static_cast<Collective>(reader.get<std::uint8_t>());
  if (!is_point_to_point(direction)) throw FormatError("control message: neither send nor recv");
  return direction;
}

GroupStatus get_group_status(net::ByteReader& reader) {
  GroupStatus status;
  status.issued = get_optional_fingerprint(reader);
  status.running = get_optional_fingerprint(reader);
  const auto ended_count = reader.get<std::uint8_t>();
  if (ended_count > kKeptCollectives) throw FormatError("control message: too many collectives that have ended");
  for (int i = 0; i < ended_count; ++i) status.ended.push_back(get_fingerprint(reader));
  status.running_for = get_duration(reader);
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    PairStatus& pair = status.pairs.emplace_back();
    pair.operation = get_fingerprint(reader);
    if (!is_point_to_point(pair.operation.collective)) throw FormatError("control message: neither send nor recv");
    pair.running_for = get_duration(reader);
  }
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    const Collective direction = get_direction(reader);
    const PairEnd end{direction, reader.get<std::int32_t>()};
    if (!status.begun.empty() && end <= status.begun.rbegin()->first)
      throw FormatError("control message: out of order");
    status.begun[end] = reader.get<std::uint64_t>();
  }
  return status;
}

RankStatus get_status(net::ByteReader& reader) {
  RankStatus status;
  for (auto left = reader.get<std::uint16_t>(); left > 0; --left) {
    const auto group = reader.get<std::int32_t>();
    if (!status.empty() && group <= status.rbegin()->first) throw FormatError("control message: groups out of order");
    status[group] = get_group_status(reader);
  }
  return status;
}

Failure get_failure(net::ByteReader& reader) {
  const auto kind = reader.get<std::uint8_t>();
  if (kind > static_cast<int>(FailureKind::kLeft)) throw FormatError("control message: unknown kind of failure");
  Failure failure{static_cast<FailureKind>(kind), reader.get<std::int32_t>(), {}};
  failure.message = reader.get_text();
  if (failure.message.size() > kMaxMessageText) throw FormatError("control message: too long a text");
  return failure;
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  net::ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(message.type));
  writer.put(static_cast<std::uint16_t>(message.status.size()));
  for (const auto& [group, status] : message.status) put(writer.put(std::int32_t{group}), status);
  writer.put(static_cast<std::uint8_t>(message.failure.kind)).put(std::int32_t{message.failure.culprit});
  writer.put_text(message.failure.message.substr(0, kMaxMessageText));
  writer.put(std::int32_t{message.group}).put(static_cast<std::uint32_t>(message.members.size()));
  for (const int member : message.members) writer.put(std::int32_t{member});
  writer.put(static_cast<std::uint32_t>(message.calls.size()));
  for (const Fingerprint& call : message.calls) put(writer, call);
  return writer.take();
}

ControlMessage decode_control(std::span<const std::byte> bytes) {
  net::ByteReader reader(bytes);
  ControlMessage message;
  const auto type = reader.get<std::uint8_t>();
  if (type < 1 || type > static_cast<int>(ControlType::kForget)) {
    throw FormatError(concat("unknown control message ", static_cast<int>(type)));
  }
  message.type = static_cast<ControlType>(type);
  message.status = get_status(reader);
  message.failure = get_failure(reader);
  message.group = reader.get<std::int32_t>();
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) message.members.push_back(reader.get<std::int32_t>());
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) message.calls.push_back(get_fingerprint(reader));
  if (!reader.rest().empty()) throw FormatError("control message has bytes too many");
  return message;
}

Fingerprint other_end_of(const Fingerprint& operation, int rank) {
  Fingerprint other = operation;
  other.collective = operation.collective == Collective::kSend ? Collective::kRecv : Collective::kSend;
  other.root = rank;
  return other;
}

bool has_begun(const GroupStatus& status, const Fingerprint& operation) {
  const auto found = status.begun.find({operation.collective, operation.root});
  return found != status.begun.end() && found->second > operation.sequence;
}

std::string describe_status(const RankStatus& status, const std::function<int(int, int)>& rank_of) {
  std::string text;
  for (const auto& [group, in_group] : status) {
    const std::string place = group == 0 ? "" : concat(" of group ", group);
    const auto& collective = in_group.running ? in_group.running : in_group.issued;
    if (collective) text += concat(text.empty() ? "" : ", ", describe(*collective), place);
    for (const PairStatus& pair : in_group.pairs) {
      text += concat(text.empty() ? "" : ", ", "waits for rank ", rank_of(group, pair.operation.root), " in ",
                     describe(pair.operation), place);
    }
  }
  return text.empty() ? "nothing yet" : text;
}

void send_control(net::FrameStream& stream, const JobContext& context, const ControlMessage& message) {
  const net::FrameHeader header{.type = net::FrameType::kControl,
                                .generation = static_cast<std::uint32_t>(context.generation),
                                .source_rank = context.rank};
  stream.send(header, encode(message));
}

std::chrono::milliseconds tick_of(const JobLimits& limits) {
  return std::clamp(std::min(limits.liveness, limits.progress_report) / 5, 5ms, 100ms);
}

std::chrono::milliseconds heartbeat_of(const JobLimits& limits) { return std::clamp(limits.liveness / 5, 5ms, 1000ms); }

}  // namespace lockstep::comm
