#include "emulator/checker/metrics.hpp"

#include "checked_run.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

// The rows of one launch.
std::vector<MetricsRow> rows_of(const std::string& name, std::uint64_t seed = 0) {
  const CheckedScope scope(seed, true);
  clear_metrics();
  run_planted(name);
  return metrics();
}

MetricsRow row_at(const std::vector<MetricsRow>& rows, const std::string& mark, const std::string& operation,
                  bool is_shared) {
  for (const MetricsRow& row : rows) {
    if (row.place.line == line_of(mark) && row.operation == operation && row.is_shared == is_shared) return row;
  }
  return {};
}

}  // namespace

TEST_CASE("A padded tile is free of bank conflicts, one without padding takes 32 passes", "[emulator]") {
  for (const std::uint64_t seed : {0U, 1U, 7U}) {
    const auto plain = row_at(rows_of("transpose", seed), "tile load", "load", true);
    CHECK(plain.requests == 32);
    CHECK(plain.transactions == 32 * 32);
    CHECK(plain.ideal == 32);
    const auto padded = row_at(rows_of("padded transpose", seed), "tile load", "load", true);
    CHECK(padded.requests == 32);
    CHECK(padded.transactions == 32);
  }
}

TEST_CASE("Sectors per request tell neighbours from strides", "[emulator]") {
  const std::vector<MetricsRow> rows = rows_of("strided");
  const auto load = row_at(rows, "strided", "load", false);
  CHECK(load.requests == 1);
  CHECK(load.transactions == 32);
  CHECK(load.ideal == 4);
  const auto store = row_at(rows, "strided", "store", false);
  CHECK(store.transactions == 4);
}

TEST_CASE("A vector is one access of 16 bytes", "[emulator]") {
  const auto load = row_at(rows_of("vectors"), "vectors", "load", false);
  CHECK(load.requests == 1);
  CHECK(load.transactions == 16);
  CHECK(load.ideal == 16);
}

TEST_CASE("Barriers and atomics are counted at their lines", "[emulator]") {
  CHECK(row_at(rows_of("transpose"), "tile barrier", "barrier", false).requests == 1);
  const auto atomic = row_at(rows_of("bins"), "bins", "atomic", false);
  CHECK(atomic.requests == 2 * 2);
  CHECK(atomic.lanes == 2 * 64);
}

TEST_CASE("The table is the same from run to run and speaks of no time", "[emulator]") {
  const std::string table = metrics_table(rows_of("transpose"));
  CHECK(table == metrics_table(rows_of("transpose")));
  CHECK_THAT(table, ContainsSubstring("kernel transpose\n"));
  CHECK_THAT(table, ContainsSubstring(" requests of 32.00 passes (ideal 1.00)"));
}
