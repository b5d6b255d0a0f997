#include "comm/control_wire.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxMessageText = 16 * 1024;

void put(net::ByteWriter& writer, const Fingerprint& fingerprint) {
  writer.put(fingerprint.sequence).put_bytes(to_tag(fingerprint));
}

Fingerprint get_fingerprint(net::ByteReader& reader) {
  const auto sequence = reader.get<std::uint64_t>();
  net::FrameTag tag{};
  std::ranges::copy(reader.get_bytes(tag.size()), tag.begin());
  return from_tag(sequence, tag);
}

RankStatus get_status(net::ByteReader& reader) {
  RankStatus status;
  for (auto left = reader.get<std::uint16_t>(); left > 0; --left) {
    GroupStatus& group = status[reader.get<std::int32_t>()];
    group.issued = get_fingerprint(reader);
    if (reader.get<std::uint8_t>() == 0) continue;
    group.running = get_fingerprint(reader);
    group.running_for = std::chrono::milliseconds(reader.get<std::int64_t>());
  }
  return status;
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  net::ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(message.type));
  writer.put(static_cast<std::uint16_t>(message.status.size()));
  for (const auto& [group, status] : message.status) {
    put(writer.put(std::int32_t{group}), status.issued);
    writer.put(static_cast<std::uint8_t>(status.running ? 1 : 0));
    if (!status.running) continue;
    put(writer, *status.running);
    writer.put(std::int64_t{status.running_for.count()});
  }
  writer.put(static_cast<std::uint8_t>(message.failure.kind)).put(std::int32_t{message.failure.culprit});
  return writer.put_text(message.failure.message.substr(0, kMaxMessageText)).take();
}

ControlMessage decode_control(std::span<const std::byte> bytes) {
  net::ByteReader reader(bytes);
  ControlMessage message;
  const auto type = reader.get<std::uint8_t>();
  if (type < 1 || type > static_cast<int>(ControlType::kFailure)) {
    throw FormatError(concat("unknown control message ", static_cast<int>(type)));
  }
  message.type = static_cast<ControlType>(type);
  message.status = get_status(reader);
  const auto kind = reader.get<std::uint8_t>();
  if (kind > static_cast<int>(FailureKind::kLeft)) throw FormatError("unknown kind of failure");
  message.failure.kind = static_cast<FailureKind>(kind);
  message.failure.culprit = reader.get<std::int32_t>();
  message.failure.message = reader.get_text();
  if (!reader.rest().empty()) throw FormatError("control message has bytes too many");
  return message;
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
