#include "launch/watching/flight_export.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/timing.hpp"
#include "base/utf8.hpp"
#include "launch/watching/flight_files.hpp"
#include "launch/watching/pickle.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;
using comm::Collective;
using comm::FlightEntry;
using comm::FlightRecord;
using comm::FlightState;
using nlohmann::json;

// The version of the format whose fields these are.
constexpr const char* kVersion = "2.4";

const char* pytorch_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "Float";
    case DType::kFloat64:
      return "Double";
    case DType::kBFloat16:
      return "BFloat16";
    case DType::kInt32:
      return "Int";
    case DType::kInt64:
      return "Long";
    case DType::kUInt8:
      return "Byte";
    case DType::kFloat16:
      return "Half";
  }
  return "Undefined";
}

const char* pytorch_name(const FlightEntry& entry) {
  if (entry.state == FlightState::kDone) return "completed";
  return entry.started_ns > 0 ? "started" : "scheduled";
}

// The ranks of a call: those of its group; of a send or recv, the two.
struct Participants {
  std::string name;        // of the group
  std::vector<int> ranks;  // of the job
};

// A send or recv, between ranks of the job.
struct Transfer {
  int source, destination;
};

// Nothing if the peer is not known.
std::optional<Transfer> transfer_of(const FlightEntry& entry, const FlightRecord& record) {
  const std::vector<int> ranks = record.ranks_of(entry.group);
  const auto peer = static_cast<std::size_t>(entry.fingerprint.root);
  if (peer >= ranks.size()) return std::nullopt;
  if (entry.fingerprint.collective == Collective::kSend) return Transfer{record.rank, ranks[peer]};
  return Transfer{ranks[peer], record.rank};
}

Participants participants_of(const FlightEntry& entry, const FlightRecord& record) {
  const std::string name = std::to_string(entry.group);
  if (!is_point_to_point(entry.fingerprint.collective)) return {name, record.ranks_of(entry.group)};
  const std::optional<Transfer> transfer = transfer_of(entry, record);
  if (!transfer) return {name, {}};
  const auto [source, destination] = *transfer;
  return {concat(name, " ", source, "->", destination), {std::min(source, destination), std::max(source, destination)}};
}

// Within the group of the two: 0 is the lower rank.
std::string direction_of(const FlightEntry& entry, const FlightRecord& record) {
  const Transfer transfer = transfer_of(entry, record).value();  // participants_of() found them
  const int from = transfer.source < transfer.destination ? 0 : 1, to = 1 - from;
  return entry.fingerprint.collective == Collective::kSend ? concat("send ", from, "->", to)
                                                           : concat("recv ", to, "<-", from);
}

std::string call_name(const FlightEntry& entry, const FlightRecord& record) {
  switch (entry.fingerprint.collective) {
    case Collective::kAllGather:
      return "_all_gather_base";
    case Collective::kReduceScatter:
      return "_reduce_scatter_base";
    case Collective::kSend:
    case Collective::kRecv:
      return direction_of(entry, record);
    default:
      return std::string(name_of(entry.fingerprint.collective));
  }
}

// The shapes of `count` vectors of `size` elements.
json vectors(std::int64_t size, std::size_t count = 1) {
  return json(std::vector<std::vector<std::int64_t>>(count, {size}));
}

struct Sizes {
  json input, output;
};

Sizes sizes_of(const FlightEntry& entry, const FlightRecord& record, const std::vector<int>& ranks) {
  const std::int64_t own = entry.fingerprint.count;
  std::int64_t all = 0;
  if (__builtin_mul_overflow(own, ranks.size(), &all)) all = own;  // a damaged count
  const auto root = static_cast<std::size_t>(entry.fingerprint.root);
  const std::size_t at_root = root < ranks.size() && ranks[root] == record.rank ? ranks.size() : 0;
  switch (entry.fingerprint.collective) {
    case Collective::kAllGather:
      return {vectors(own), vectors(all)};
    case Collective::kReduceScatter:
      return {vectors(all), vectors(own)};
    case Collective::kGather:
      return {vectors(own), vectors(own, at_root)};
    case Collective::kScatter:
      return {vectors(own, at_root), vectors(own)};
    default:
      return {vectors(own), vectors(own)};
  }
}

json time_or_none(std::int64_t steady_ns, std::int64_t offset) {
  return steady_ns > 0 ? json(steady_ns + offset) : json();
}

json to_json(const FlightEntry& entry, const FlightRecord& record, const Participants& participants,
             std::int64_t offset) {
  const comm::Fingerprint& call = entry.fingerprint;
  const Sizes sizes = sizes_of(entry, record, participants.ranks);
  const bool is_p2p = is_point_to_point(call.collective);
  const json dtypes = json::array({pytorch_name(call.dtype)});
  return {
      {"pg_id", entry.group},
      {"process_group", json::array({participants.name, entry.group == 0 && !is_p2p ? "default_pg" : "undefined"})},
      {"collective_seq_id", call.sequence},
      {"p2p_seq_id", is_p2p ? call.sequence : 0},
      {"op_id", call.sequence},
      {"profiling_name", "nccl:" + call_name(entry, record)},
      {"time_created_ns", entry.issued_ns + offset},
      {"time_discovered_started_ns", time_or_none(entry.started_ns, offset)},
      {"time_discovered_completed_ns", time_or_none(entry.ended_ns, offset)},
      {"input_sizes", sizes.input},
      {"output_sizes", sizes.output},
      {"input_dtypes", dtypes},
      {"output_dtypes", dtypes},
      {"state", pytorch_name(entry)},
      {"retired", entry.ended_ns > 0},
      {"is_p2p", is_p2p},
      {"frames", json::array({{{"name", describe(call)}, {"filename", printable(entry.file)}, {"line", entry.line}}})}};
}

std::int64_t unix_minus_steady_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - steady_now_ns();
}

}  // namespace

json to_pytorch_record(const FlightRecord& record, std::int64_t unix_minus_steady_ns) {
  json entries = json::array(), groups = json::object();
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const FlightEntry& entry = record.entries[i];
    const Participants participants = participants_of(entry, record);
    if (participants.ranks.empty()) continue;
    json converted = to_json(entry, record, participants, unix_minus_steady_ns);
    converted["record_id"] = record.first_entry + i;
    groups[participants.name] = {{"name", participants.name},
                                 {"desc", converted["process_group"][1]},
                                 {"ranks", dump_json(json(participants.ranks))}};  // a text, as in PyTorch's
    entries.push_back(std::move(converted));
  }
  return {{"version", kVersion}, {"pg_config", std::move(groups)}, {"entries", std::move(entries)}};
}

FlightExport export_flight_files(const fs::path& folder, const fs::path& to) {
  const FlightFiles files = read_flight_files(folder);
  if (files.of_rank.empty())
    throw UsageError(concat("no rank has recorded anything in ", folder.string(), "\n", files.problems));
  const auto path_of = [&](int rank) { return to / concat("rank_", rank); };
  std::error_code error;
  for (const auto& [rank, record] : files.of_rank)
    if (fs::exists(path_of(rank), error))
      throw UsageError(concat(path_of(rank).string(), " exists: name another folder"));
  error.clear();
  fs::create_directories(to, error);
  if (error) throw IoError(concat("cannot make the folder ", to.string(), ": ", error.message()));
  FlightExport done;
  done.problems = files.problems;
  const std::int64_t offset = unix_minus_steady_ns();
  int world_size = 0;
  for (const auto& [rank, record] : files.of_rank) {
    const json converted = to_pytorch_record(record, offset);
    write_file(path_of(rank), to_pickle(converted));
    done.ranks.push_back(rank);
    done.left_out += record.entries.size() - converted["entries"].size();
    world_size = std::max(world_size, record.world_size);
  }
  for (int rank = 0; rank < world_size; ++rank)
    if (!files.of_rank.contains(rank)) done.missing.push_back(rank);
  return done;
}

}  // namespace lockstep::launch
