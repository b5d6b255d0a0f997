#include "launch/hosts/agent_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::launch {
namespace {

constexpr std::size_t kMostLines = 100;

class Writer {
 public:
  void operator()(int value) { bytes_.put(value); }
  void operator()(bool value) { bytes_.put(static_cast<std::uint8_t>(value)); }
  void operator()(const std::string& value) { bytes_.put_text(value); }
  void operator()(const std::vector<std::string>& lines) {
    const std::size_t count = std::min(lines.size(), kMostLines);
    bytes_.put(static_cast<std::uint8_t>(count));
    for (std::size_t i = 0; i < count; ++i) bytes_.put_text(shortened(lines[i]));
  }
  [[nodiscard]] std::vector<std::byte> take(std::size_t index) {
    const std::vector<std::byte> fields = bytes_.take();
    net::ByteWriter whole;
    return whole.put(static_cast<std::uint8_t>(index)).put_bytes(fields).take();
  }

 private:
  static std::string shortened(const std::string& line) {
    constexpr std::size_t kLongestLine = 4096;  // a hundred of them fit into a message
    return line.substr(0, kLongestLine);
  }
  net::ByteWriter bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  void operator()(int& value) { value = bytes_.get<int>(); }
  void operator()(bool& value) { value = bytes_.get<std::uint8_t>() != 0; }
  void operator()(std::string& value) { value = bytes_.get_text(); }
  void operator()(std::vector<std::string>& lines) {
    lines.resize(bytes_.get<std::uint8_t>());
    for (std::string& line : lines) line = bytes_.get_text();
  }
  [[nodiscard]] std::size_t index() { return bytes_.get<std::uint8_t>(); }
  [[nodiscard]] std::size_t left() const { return bytes_.rest().size(); }

 private:
  net::ByteReader bytes_;
};

// The fields in wire order, listed once for both writing and reading.
template <typename Message, typename Each>
void visit_fields(Message& message, Each& each) {
  using M = std::remove_const_t<Message>;
  const auto all = [&each](auto&... fields) { (each(fields), ...); };
  if constexpr (std::is_same_v<M, JoinMessage>) {
    all(message.job, message.role, message.min_nodes, message.max_nodes, message.max_restarts, message.node_rank,
        message.host, message.process, message.instance, message.local_world_size, message.last_generation);
  } else if constexpr (std::is_same_v<M, WelcomeMessage>) {
    all(message.hub);
  } else if constexpr (std::is_same_v<M, RefusalMessage>) {
    all(message.reason);
  } else if constexpr (std::is_same_v<M, NoticeMessage>) {
    all(message.text);
  } else if constexpr (std::is_same_v<M, StartMessage>) {
    all(message.generation, message.restart_count, message.nonce, message.group_rank, message.group_world_size,
        message.first_rank, message.world_size, message.master_host, message.store_port, message.master_port);
  } else if constexpr (std::is_same_v<M, EndMessage>) {
    all(message.generation, message.is_orderly, message.reason);
  } else if constexpr (std::is_same_v<M, FailureMessage>) {
    all(message.generation, message.rank, message.exit_code, message.what, message.last_lines);
  } else if constexpr (std::is_same_v<M, LeaveMessage>) {
    all(message.signal);
  } else if constexpr (std::is_same_v<M, EndedMessage>) {
    all(message.generation, message.exit_code, message.last_lines);
  } else if constexpr (std::is_same_v<M, VerdictMessage>) {
    all(message.exit_code, message.summary, message.last_lines);
  }
}

// The alternative whose number is `index`.
template <std::size_t kCandidate = 0>
AgentMessage make_message(std::size_t index) {
  if constexpr (kCandidate < std::variant_size_v<AgentMessage>) {
    return index == kCandidate ? AgentMessage(std::in_place_index<kCandidate>) : make_message<kCandidate + 1>(index);
  } else {
    throw FormatError(concat("an agent sent an unknown message, number ", index));
  }
}

}  // namespace

std::vector<std::byte> encode(const AgentMessage& message) {
  Writer writer;
  std::visit([&writer](const auto& content) { visit_fields(content, writer); }, message);
  return writer.take(message.index());
}

AgentMessage decode_agent_message(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  AgentMessage message = make_message(reader.index());
  std::visit([&reader](auto& content) { visit_fields(content, reader); }, message);
  if (reader.left() > 0) throw FormatError(concat("an agent's message has ", reader.left(), " bytes too many"));
  return message;
}

void send_message(net::FrameStream& stream, const AgentMessage& message) {
  stream.send({.type = net::FrameType::kAgent}, encode(message));
}

}  // namespace lockstep::launch
