#include "emulator/checker/metrics.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

#include "emulator/checker/checker.hpp"

namespace lockstep::emulator {
namespace {

using checker::Checker;
using checker::InstructionTotals;
using checker::MetricsCounter;
using checker::Operation;
using checker::SourceNames;

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kLoad:
      return "load";
    case Operation::kStore:
      return "store";
    case Operation::kAtomic:
      return "atomic";
    case Operation::kBarrier:
      return "barrier";
  }
  return "";
}

void add(MetricsRow& row, const InstructionTotals& totals) {
  row.requests += totals.requests;
  row.lanes += totals.lanes;
  row.bytes += totals.bytes;
  row.transactions += totals.transactions;
  row.ideal += totals.ideal;
}

// Several instructions of one line (a copy of a structure, an unrolled loop) form one row.
std::vector<MetricsRow> rows_of(const MetricsCounter& counter, SourceNames& names) {
  std::map<std::tuple<std::string, std::string, unsigned, Operation, bool>, MetricsRow> rows;
  for (const auto& [key, totals] : counter.totals()) {
    const auto& [kernel, site, operation, is_global] = key;
    const FindingPlace place = names.place_of(site);
    MetricsRow& row = rows[{kernel, place.file, place.line, operation, is_global}];
    row.kernel = kernel;
    row.place = place;
    row.operation = name_of(operation);
    row.is_shared = !is_global && operation != Operation::kBarrier;
    add(row, totals);
  }
  std::vector<MetricsRow> sorted;
  for (const auto& [key, row] : rows) sorted.push_back(row);
  return sorted;
}

}  // namespace

std::vector<MetricsRow> metrics() { return Checker::instance().with_metrics(rows_of); }

void clear_metrics() {
  Checker::instance().with_metrics([](MetricsCounter& counter, SourceNames&) { counter.clear(); });
}

std::string metrics_table(const std::vector<MetricsRow>& rows) {
  std::ostringstream text;
  text << "emulated CUDA: memory requests by source line (counts, not times)\n" << std::fixed << std::setprecision(2);
  std::string kernel;
  for (const MetricsRow& row : rows) {
    if (row.kernel != kernel) text << "kernel " << row.kernel << '\n';
    kernel = row.kernel;
    const std::size_t name = row.place.file.rfind('/');
    const std::string place =
        row.place.file.substr(name == std::string::npos ? 0 : name + 1) + ":" + std::to_string(row.place.line);
    text << "  " << std::left << std::setw(20) << place << ' ';
    if (row.operation == "barrier") {
      text << "barrier passed" << std::right << std::setw(4) << row.requests << '\n';
      continue;
    }
    const auto requests = static_cast<double>(std::max<std::uint64_t>(row.requests, 1));
    text << (row.is_shared ? "shared " : "global ") << std::setw(6) << row.operation << std::right << std::setw(5)
         << row.requests << (row.requests == 1 ? " request of " : " requests of ")
         << static_cast<double>(row.transactions) / requests << (row.is_shared ? " passes" : " sectors") << " (ideal "
         << static_cast<double>(row.ideal) / requests << ")\n";
  }
  return text.str();
}

}  // namespace lockstep::emulator
