#include "comm/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"

namespace lockstep::comm {
namespace {

Buffer text_buffer(std::string& text) {
  return {text.data(), static_cast<std::int64_t>(text.size()), DType::kUInt8, Device{}, nullptr};
}

void require_sendable(const std::string& text, const char* collective) {
  require(static_cast<std::int64_t>(text.size()) <= kMaxObjectBytes, collective, ": the object is ", text.size(),
          " bytes long as text; at most ", kMaxObjectBytes, " are sent. Send large data as a buffer");
}

std::size_t checked_length(std::int64_t bytes, int rank) {
  if (bytes >= 0 && bytes <= kMaxObjectBytes) return static_cast<std::size_t>(bytes);
  throw FormatError(
      concat("rank ", rank, " announced an object of ", bytes, " bytes; at most ", kMaxObjectBytes, " are accepted"));
}

nlohmann::json parse(std::string_view text, int rank) {
  try {
    return parse_json(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw FormatError(concat("rank ", rank, " sent an object that is not JSON: ", error.what()));
  }
}

}  // namespace

std::string broadcast_text(ProcessGroup& group, std::string text, int root, const CollectiveOptions& options) {
  group.require_no_open_group("broadcast_text");
  if (group.rank() == root) require_sendable(text, "broadcast_text");
  auto bytes = static_cast<std::int64_t>(text.size());
  group.broadcast(host_buffer(std::span(&bytes, 1)), root, options).synchronize();
  text.resize(checked_length(bytes, root));
  group.broadcast(text_buffer(text), root, options).synchronize();
  return text;
}

nlohmann::json broadcast_object(ProcessGroup& group, const nlohmann::json& object, int root,
                                const CollectiveOptions& options) {
  group.require_no_open_group("broadcast_object");
  std::string text;
  if (group.rank() == root) text = dump_json(object);
  return parse(broadcast_text(group, std::move(text), root, options), root);
}

std::vector<nlohmann::json> all_gather_object(ProcessGroup& group, const nlohmann::json& object,
                                              const CollectiveOptions& options) {
  group.require_no_open_group("all_gather_object");
  std::string text = dump_json(object);
  require_sendable(text, "all_gather_object");
  auto own_bytes = static_cast<std::int64_t>(text.size());
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(group.world_size()));
  group.all_gather(host_buffer(std::span(bytes)), host_buffer(std::span(&own_bytes, 1)), options).synchronize();
  std::size_t longest = 0;
  for (int rank = 0; rank < group.world_size(); ++rank) {
    longest = std::max(longest, checked_length(bytes[static_cast<std::size_t>(rank)], rank));
  }
  text.resize(longest, ' ');
  std::string all(longest * bytes.size(), ' ');
  group.all_gather(text_buffer(all), text_buffer(text), options).synchronize();

  std::vector<nlohmann::json> objects;
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    const std::string_view one = std::string_view(all).substr(rank * longest, static_cast<std::size_t>(bytes[rank]));
    objects.push_back(parse(one, static_cast<int>(rank)));
  }
  return objects;
}

}  // namespace lockstep::comm
