#include "launch/watching/health_page.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <source_location>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/training_status.hpp"
#include "launch/watching/metrics_text.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using launch::HealthPage;
using launch::MetricsText;

namespace {

// A reader of Prometheus' text format, by its page: fails on what a scraper would refuse.
class Exposition {
 public:
  explicit Exposition(const std::string& text) {
    if (!text.ends_with("\n")) throw FormatError("the last line has no end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) line.starts_with('#') ? take_comment(line) : take_sample(line);
  }

  // By name and labels as they are written: lockstep_step{rank="0"}.
  [[nodiscard]] bool has(const std::string& series) const { return values_.contains(series); }
  [[nodiscard]] double at(const std::string& series) const { return values_.at(series); }
  [[nodiscard]] std::string type_of(const std::string& metric) const { return types_.at(metric); }
  [[nodiscard]] const std::map<std::string, double>& values() const { return values_; }

 private:
  void take_comment(const std::string& line) {
    static const std::regex pattern(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
    std::smatch match;
    if (!std::regex_match(line, match, pattern)) throw FormatError("no comment of the format: " + line);
    if (match[1] == "HELP") {
      if (types_.contains(match[2])) throw FormatError("HELP comes after TYPE: " + line);
      return;
    }
    if (match[3] != "gauge" && match[3] != "counter") throw FormatError("no type: " + line);
    if (!types_.emplace(match[2], match[3]).second) throw FormatError("a metric twice: " + line);
    current_ = match[2];
  }

  void take_sample(const std::string& line) {
    static const std::regex pattern(R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")"
                                    R"((?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")*\})? (\S+))");
    std::smatch match;
    if (!std::regex_match(line, match, pattern)) throw FormatError("no sample of the format: " + line);
    if (match[1] != current_) throw FormatError("a sample apart from its metric: " + line);
    const std::string series = match[1].str() + match[2].str();
    if (!values_.emplace(series, value_of(match[3])).second) throw FormatError("a series twice: " + line);
  }

  static double value_of(const std::string& text) {
    if (text == "NaN") return NAN;
    if (text == "+Inf" || text == "-Inf") return text == "+Inf" ? INFINITY : -INFINITY;
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used != text.size()) throw FormatError("no number: " + text);
    return value;
  }

  std::map<std::string, std::string> types_;
  std::map<std::string, double> values_;
  std::string current_;
};

std::string body(const HealthPage& page, const std::string& path) { return page.answer(path).body; }

}  // namespace

TEST_CASE("metrics are grouped, typed and escaped as Prometheus reads them", "[launch][health]") {
  MetricsText text;
  text.declare("one", MetricsText::Type::kGauge, "has\na line end and a \\");
  text.declare("two_total", MetricsText::Type::kCounter, "second");
  text.declare("none", MetricsText::Type::kGauge, "has no samples");
  text.add("two_total", {}, 3);
  text.add("one", {{"label", "a \"quoted\"\nline \\ end"}, {"other", ""}}, 0.1);
  text.add("two_total", {{"rank", "1"}}, 1e300);
  text.add("one", {}, NAN);
  text.add("one", {{"x", "y"}}, -INFINITY);
  CHECK_THROWS_AS(text.add("three", {}, 0), ContractError);
  const Exposition read(text.text());
  CHECK(read.at(R"(one{label="a \"quoted\"\nline \\ end",other=""})") == 0.1);
  CHECK(std::isnan(read.at("one")));
  CHECK(read.at(R"(one{x="y"})") == -INFINITY);
  CHECK(read.at(R"(two_total{rank="1"})") == 1e300);
  CHECK(read.type_of("two_total") == "counter");
  CHECK_THAT(text.text(), !ContainsSubstring("none"));
}

TEST_CASE("the page shows what ranks have told, and what they have not is left out", "[launch][health]") {
  const test::TemporaryFolder folder;
  HealthPage page;
  CHECK(nlohmann::json::parse(body(page, "/healthz")).at("status") == "starting");
  page.start(2, 4, 3, folder.path());
  comm::FlightRecorder recorder(folder.path().string(), 4, 8, 2);
  const auto entry = recorder.add(0, {.sequence = 6, .collective = comm::Collective::kAllReduce, .count = 10},
                                  std::source_location::current());
  recorder.update(entry, comm::FlightState::kRunning);
  recorder.add(0, {.sequence = 40, .collective = comm::Collective::kSend}, std::source_location::current());
  comm::TrainingStatusFile status(folder.path().string(), 4);
  comm::TrainingStatusFile unwritten(folder.path().string(), 5);
  status.write({.rank = 4, .step = 11, .last_step = 100, .step_ns = 250'000'000, .loss = 1});
  status.write({.rank = 4,
                .step = 12,
                .last_step = 100,
                .step_ns = 500'000'000,
                .steps_ns = 6'000'000'000,
                .exposed_ns = 1'500'000'000,
                .peak_memory_bytes = 1 << 20,
                .loss = 2.5});
  write_file(folder / "rank6.status", "of another build, or half a disk");
  write_file(folder / "rank6.flight", "the same");

  const Exposition read(body(page, "/metrics"));
  CHECK(read.at("lockstep_ranks") == 3);
  CHECK(read.at("lockstep_restarts_total") == 2);
  CHECK(read.at("lockstep_failed") == 0);
  CHECK(read.at(R"(lockstep_step{rank="4"})") == 12);
  CHECK(read.at(R"(lockstep_steps{rank="4"})") == 100);
  CHECK(read.at(R"(lockstep_step_seconds{rank="4"})") == 0.5);
  CHECK(read.at(R"(lockstep_exposed_communication_seconds_total{rank="4"})") == Approx(1.5));
  CHECK(read.at(R"(lockstep_peak_memory_bytes{rank="4"})") == 1 << 20);
  CHECK(read.at(R"(lockstep_loss{rank="4"})") == 2.5);
  CHECK(read.at(R"(lockstep_step_age_seconds{rank="4"})") >= 0);
  CHECK(read.at(R"(lockstep_collectives_total{rank="4"})") == 7);
  CHECK(read.at(R"(lockstep_last_collective_age_seconds{rank="4"})") >= 0);
  CHECK(read.type_of("lockstep_collectives_total") == "counter");
  CHECK_THAT(body(page, "/metrics"),
             ContainsSubstring(R"(lockstep_last_collective_info{rank="4",collective="all_reduce",sequence="6",)"
                               R"(state="running",line=")"));
  for (const auto& [series, value] : read.values())
    CHECK_THAT(series, !ContainsSubstring("rank=\"5\"") && !ContainsSubstring("rank=\"6\""));
}

TEST_CASE("a job that has failed is unhealthy until it runs again", "[launch][health]") {
  const test::TemporaryFolder folder;
  HealthPage page;
  page.start(0, 0, 2, folder.path());
  CHECK(page.answer("/healthz").status == 200);
  page.fail("rank 1 was \"killed\"");
  const launch::HttpResponse failed = page.answer("/healthz");
  CHECK(failed.status == 503);
  CHECK(nlohmann::json::parse(failed.body).at("what") == "rank 1 was \"killed\"");
  CHECK(Exposition(body(page, "/metrics")).at("lockstep_failed") == 1);
  page.start(1, 0, 2, folder.path());
  CHECK(nlohmann::json::parse(body(page, "/healthz")).at("status") == "running");
  CHECK(Exposition(body(page, "/metrics")).at("lockstep_generation") == 1);
  CHECK(page.answer("/").status == 404);
}
