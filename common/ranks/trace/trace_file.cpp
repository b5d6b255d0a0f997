#include "trace/trace_file.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace lockstep::trace {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The key for data that the event format has no place for.
constexpr const char* kOwnKey = "lockstep";

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

json metadata_event(const char* what, int rank, int lane, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", {{"name", name}}}};
}

void append_rank(json& events, const RankTrace& trace) {
  events.push_back(metadata_event("process_name", trace.rank, 0, concat("rank ", trace.rank)));
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane)
    events.push_back(metadata_event("thread_name", trace.rank, static_cast<int>(lane), trace.lanes[lane]));
  for (const SpanRecord& span : trace.spans)
    events.push_back({{"ph", "X"},
                      {"name", span.name},
                      {"cat", name_of(span.category)},
                      {"pid", trace.rank},
                      {"tid", span.lane},
                      {"ts", microseconds(span.begin_ns)},
                      {"dur", microseconds(span.end_ns - span.begin_ns)},
                      // Exact integers for reading back; the viewers' microseconds are doubles.
                      {"args", {{"step", span.step}, {"begin_ns", span.begin_ns}, {"end_ns", span.end_ns}}}});
}

Category category_named(const std::string& name) {
  for (std::size_t i = 0; i < kCategoryCount; ++i)
    if (name_of(static_cast<Category>(i)) == name) return static_cast<Category>(i);
  return Category::kOther;
}

std::vector<RankTrace> parse_trace(const json& file) {
  std::vector<RankTrace> ranks;
  std::map<int, std::size_t> index_of_rank;
  for (const json& entry : file.at(kOwnKey)) {
    RankTrace& trace = ranks.emplace_back();
    trace.rank = entry.at("rank").get<int>();
    trace.lanes = entry.at("lanes").get<std::vector<std::string>>();
    trace.dropped_spans = entry.at("dropped_spans").get<std::uint64_t>();
    trace.wall_offset_ns = entry.at("wall_offset_ns").get<std::int64_t>();
    trace.boot_id = entry.at("boot_id").get<std::string>();
    index_of_rank[trace.rank] = ranks.size() - 1;
  }
  for (const json& event : file.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    RankTrace& rank = ranks.at(index_of_rank.at(event.at("pid").get<int>()));
    const json& args = event.at("args");
    rank.spans.push_back({.name = event.at("name").get<std::string>(),
                          .category = category_named(event.at("cat").get<std::string>()),
                          .lane = event.at("tid").get<int>(),
                          .step = args.at("step").get<std::int64_t>(),
                          .begin_ns = args.at("begin_ns").get<std::int64_t>(),
                          .end_ns = args.at("end_ns").get<std::int64_t>()});
    if (rank.spans.back().lane < 0 || rank.spans.back().lane >= static_cast<int>(rank.lanes.size()))
      throw FormatError(concat("span ", rank.spans.back().name, " is on no lane"));
  }
  return ranks;
}

}  // namespace

std::string trace_file_name(int rank) { return concat("trace_rank", rank, ".json"); }

void write_trace(const fs::path& path, std::span<const RankTrace> ranks) {
  json file = {{"displayTimeUnit", "ms"}, {"traceEvents", json::array()}, {kOwnKey, json::array()}};
  for (const RankTrace& trace : ranks) {
    append_rank(file["traceEvents"], trace);
    file[kOwnKey].push_back({{"rank", trace.rank},
                             {"lanes", trace.lanes},
                             {"dropped_spans", trace.dropped_spans},
                             {"wall_offset_ns", trace.wall_offset_ns},
                             {"boot_id", trace.boot_id}});
  }
  write_file(path, dump_json(file, kOneLine, BadUtf8::kReplace));
}

std::vector<RankTrace> read_trace(const fs::path& path) {
  try {
    return parse_trace(parse_json(read_file(path)));
  } catch (const IoError&) {
    throw;
  } catch (const std::exception& error) {
    throw FormatError(concat(path.string(), " is not a trace written by Lockstep: ", error.what()));
  }
}

std::vector<RankTrace> align(std::vector<RankTrace> ranks) {
  const bool share_a_clock = std::ranges::all_of(
      ranks, [&](const RankTrace& trace) { return !trace.boot_id.empty() && trace.boot_id == ranks.front().boot_id; });
  constexpr std::int64_t kNoSpan = std::numeric_limits<std::int64_t>::max();
  std::int64_t origin = kNoSpan;
  for (const RankTrace& trace : ranks)
    for (const SpanRecord& span : trace.spans)
      origin = std::min(origin, span.begin_ns + (share_a_clock ? 0 : trace.wall_offset_ns));
  if (origin == kNoSpan) return ranks;
  for (RankTrace& trace : ranks) {
    const std::int64_t shift = (share_a_clock ? 0 : trace.wall_offset_ns) - origin;
    for (SpanRecord& span : trace.spans) {
      span.begin_ns += shift;
      span.end_ns += shift;
    }
    trace.wall_offset_ns -= shift;  // keeps time plus offset equal to the wall clock
  }
  return ranks;
}

std::vector<RankTrace> read_trace_folder(const fs::path& folder) {
  std::vector<RankTrace> ranks;
  for (int rank = 0; fs::exists(folder / trace_file_name(rank)); ++rank)
    for (RankTrace& trace : read_trace(folder / trace_file_name(rank))) ranks.push_back(std::move(trace));
  if (ranks.empty()) throw IoError(concat("no trace in ", folder.string(), ": ", trace_file_name(0), " is missing"));
  return align(std::move(ranks));
}

}  // namespace lockstep::trace
