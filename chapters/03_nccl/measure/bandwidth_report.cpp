#include "03_nccl/measure/bandwidth_report.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "03_nccl/measure/contender.hpp"
#include "03_nccl/measure/measured_collective.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/terminal.hpp"
#include "comm/joining/versions.hpp"

namespace lockstep::bandwidth {
namespace {

using comm::Collective;

double algorithm_gb_s(const Measurement& one) { return static_cast<double>(one.bytes) / one.seconds / 1e9; }

double bus_gb_s(const Measurement& one, int world_size) {
  return algorithm_gb_s(one) * bus_factor(one.collective, world_size);
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

// The contenders with measurements, in the order of contender_names().
std::vector<std::string> contenders_of(const Report& report) {
  std::vector<std::string> present;
  for (const std::string& name : contender_names()) {
    const bool is_there =
        std::ranges::find(report.measurements, name, &Measurement::contender) != report.measurements.end();
    if (is_there) present.push_back(name);
  }
  return present;
}

// One of the three quantities: a row for each size, a column for each contender.
struct Quantity {
  std::string name;
  std::function<std::string(const Measurement&)> cell;
};

void add_rows(TextTable& table, const Report& report, Collective collective, const Quantity& quantity) {
  std::set<std::int64_t> sizes;
  for (const Measurement& one : report.measurements) {
    if (one.collective == collective) sizes.insert(one.bytes);
  }
  std::vector<std::string> head{quantity.name, "bytes"};
  std::ranges::copy(contenders_of(report), std::back_inserter(head));
  table.add(head);
  for (const std::int64_t bytes : sizes) {
    std::vector<std::string> row{"", std::to_string(bytes)};
    for (const std::string& name : contenders_of(report)) {
      const auto found = std::ranges::find_if(report.measurements, [&](const Measurement& one) {
        return one.contender == name && one.collective == collective && one.bytes == bytes;
      });
      const bool has_time = found != report.measurements.end() && found->seconds > 0;
      row.push_back(has_time ? quantity.cell(*found) : found == report.measurements.end() ? "-" : "right");
    }
    table.add(row);
  }
}

// About three significant digits.
std::string short_rate(double gb_s) { return with_digits(gb_s, gb_s < 0.1 ? 4 : gb_s < 10 ? 2 : 1); }

std::string table_of(const Report& report, Collective collective) {
  TextTable table;
  add_rows(table, report, collective,
           {"us", [](const Measurement& one) { return with_digits(one.seconds * 1e6, one.seconds < 1e-4 ? 1 : 0); }});
  add_rows(table, report, collective,
           {"algbw GB/s", [](const Measurement& one) { return short_rate(algorithm_gb_s(one)); }});
  add_rows(table, report, collective,
           {"busbw GB/s", [&](const Measurement& one) { return short_rate(bus_gb_s(one, report.world_size)); }});
  const std::string op = reduces(collective) ? concat(name_of(report.op), " of ") : "";
  return concat(name_of(collective), ", ", op, name_of(report.dtype), ", ", report.world_size,
                " ranks; all elements right; busbw = ", with_digits(bus_factor(collective, report.world_size), 3),
                " algbw\n", table.text());
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[sizeof "2026-11-21"];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

double rounded(double value, double steps_per_unit) { return std::round(value * steps_per_unit) / steps_per_unit; }

}  // namespace

void merge(Report& report, const Report& other) {
  std::ranges::copy(other.measurements, std::back_inserter(report.measurements));
  report.left_out.insert(other.left_out.begin(), other.left_out.end());
}

std::string tables(const Report& report) {
  std::vector<Collective> collectives;
  for (const Measurement& one : report.measurements) {
    if (std::ranges::find(collectives, one.collective) == collectives.end()) collectives.push_back(one.collective);
  }
  std::string text;
  for (const Collective collective : collectives) text += (text.empty() ? "" : "\n") + table_of(report, collective);
  for (const std::string& name : contenders_of(report)) {
    if (!is_timed(name)) text += name + ": every element is right; the emulator gives no times\n";
  }
  for (const auto& [name, why] : report.left_out) text += concat(name, ": ", why, "\n");
  return text;
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json measurements = nlohmann::json::array();
  for (const Measurement& one : report.measurements) {
    measurements.push_back({{"contender", one.contender},
                            {"collective", static_cast<int>(one.collective)},
                            {"bytes", one.bytes},
                            {"seconds", one.seconds},
                            {"fastest", one.fastest}});
  }
  return {{"measurements", measurements}, {"left_out", report.left_out}};
}

Report report_from_json(const std::string& text) {
  Report report;
  try {
    const nlohmann::json json = parse_json(text);
    for (const nlohmann::json& one : json.at("measurements")) {
      report.measurements.push_back({one.at("contender"), static_cast<Collective>(one.at("collective").get<int>()),
                                     one.at("bytes"), one.at("seconds"), one.at("fastest")});
    }
    report.left_out = json.at("left_out");
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat("a job left no report: ", error.what()));
  }
  return report;
}

void write_record(const std::filesystem::path& file, const Report& report, const std::string& command, int repeat) {
  utsname system{};
  ::uname(&system);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measurement& one : report.measurements) {
    if (one.seconds <= 0) continue;
    rows.push_back({{"backend", one.contender},
                    {"collective", name_of(one.collective)},
                    {"world_size", report.world_size},
                    {"bytes", one.bytes},
                    {"microseconds", rounded(one.seconds * 1e6, 10)},
                    {"fastest_microseconds", rounded(one.fastest * 1e6, 10)},
                    {"algbw_gb_s", rounded(algorithm_gb_s(one), 1e5)},
                    {"busbw_gb_s", rounded(bus_gb_s(one, report.world_size), 1e5)}});
  }
  const nlohmann::ordered_json record{
      {"title", "bus_bandwidth: collectives of all backends, processes of one machine, results checked"},
      {"date", today()},
      {"command", command},
      {"machine",
       {{"processor", comm::own_versions().processor},
        {"cores", std::thread::hardware_concurrency()},
        {"kernel", system.release}}},
      {"dtype", name_of(report.dtype)},
      {"op", name_of(report.op)},
      {"repeat", repeat},
      {"left_out", report.left_out},
      {"rows", rows}};
  write_file(file, dump_json(record, 1) + "\n");
}

}  // namespace lockstep::bandwidth
