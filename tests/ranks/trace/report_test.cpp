#include "trace/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "sample_trace.hpp"
#include "support/catch.hpp"
#include "trace/trace_file.hpp"

using namespace lockstep;
using namespace lockstep::trace;

namespace {

// The text between two marks.
std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t begin = text.find(open);
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find(close, begin + open.size());
  return text.substr(begin + open.size(), end - begin - open.size());
}

nlohmann::json timeline_data(const std::string& html) {
  return parse_json(between(html, "class=\"timeline-data\">", "</script>"));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a page names nothing outside itself and escapes its title", "[trace]") {
  const std::string page = html_page("a <b> & \"c\"", timeline(align(test::sample_traces(2, 3))));
  CHECK(page.find("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>") != std::string::npos);
  CHECK(occurrences(page, "http") == occurrences(page, "http://www.w3.org/2000/svg"));  // a name, not an address
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("@import") == std::string::npos);
}

TEST_CASE("a timeline holds every lane and span of its last steps", "[trace]") {
  const std::string html = timeline(align(test::sample_traces(3, 5)), 2);
  const nlohmann::json data = timeline_data(html);
  CHECK(data["lanes"].size() == 6);  // two of each rank
  CHECK(data["spans"].size() == 3 * 2 * 9);
  REQUIRE(data["steps"].size() == 2);
  CHECK(data["steps"][0][0] == 4);
  CHECK(data["steps"][1][0] == 5);
  // Rank 0: 9 ms forward and 4.2 ms optimizer in each step, by construction.
  CHECK_THAT(html, ContainsSubstring("<td>9.00</td>") && ContainsSubstring("<td>4.20</td>"));
}

TEST_CASE("steps with a checkpoint or a validation are passed over where others will do", "[trace]") {
  std::vector<RankTrace> ranks = test::sample_traces(2, 6);
  ranks[0].spans.push_back({"save", Category::kCheckpoint, 0, 5, 0, 1});
  CHECK(timeline_data(timeline(align(ranks), 3))["steps"][0][0] == 2);
  CHECK(timeline_data(timeline(align(ranks), 1))["steps"][0][0] == 6);
  CHECK(timeline_data(timeline(align(ranks), 6))["steps"].size() == 6);  // no other will do
}

TEST_CASE("a step that a rank lacks is not shown", "[trace]") {
  std::vector<RankTrace> ranks = test::sample_traces(2, 3);
  std::erase_if(ranks[1].spans, [](const SpanRecord& span) { return span.step == 3; });
  const nlohmann::json data = timeline_data(timeline(align(ranks), 5));
  REQUIRE(data["steps"].size() == 2);
  CHECK(data["steps"][1][0] == 2);
}

namespace {

// A span of step 7, from and to in milliseconds.
SpanRecord span_of(std::string name, Category category, std::int64_t begin, std::int64_t end) {
  return {std::move(name), category, 0, 7, begin * 1'000'000, end * 1'000'000};
}

std::string timeline_of(std::vector<SpanRecord> spans) {
  RankTrace trace;
  trace.rank = 3;
  trace.lanes = {"compute"};
  trace.spans = std::move(spans);
  return timeline({&trace, 1});
}

}  // namespace

TEST_CASE("spans within spans stand below them and count once", "[trace]") {
  const std::string html =
      timeline_of({span_of("forward", Category::kForward, 0, 10), span_of("attention", Category::kForward, 2, 5),
                   span_of("softmax", Category::kForward, 3, 4), span_of("next", Category::kBackward, 10, 12)});
  const nlohmann::json data = timeline_data(html);
  CHECK(data["lanes"][0]["rows"] == 3);
  CHECK(data["spans"][2][1] == 2);
  CHECK(data["spans"][3][1] == 0);
  CHECK_THAT(html, ContainsSubstring("<td>10.00</td><td>2.00</td>"));
}

TEST_CASE("a wait lies on the span that it is a part of, and has its own column", "[trace]") {
  std::vector<SpanRecord> spans{
      span_of("forward", Category::kForward, 0, 10), span_of("backward", Category::kBackward, 10, 30),
      span_of("waiting for other ranks", Category::kWait, 26, 30), span_of("update", Category::kOptimizer, 30, 31)};
  const std::string html = timeline_of(spans);
  const nlohmann::json data = timeline_data(html);
  CHECK(data["lanes"][0]["rows"] == 1);
  CHECK(data["spans"][2][1] == 0);
  CHECK_THAT(html, ContainsSubstring("<td>10.00</td><td>20.00</td><td>4.00</td><td>1.00</td>"));
  CHECK_THAT(html, ContainsSubstring("<caption>Rank 3: milliseconds per step, step 7</caption>"));
  // The same words in legend, table and bars.
  for (const char* word : {"waiting for other ranks", "update", "backward"}) {
    CHECK(occurrences(html, concat("</span>", word, "</span>")) == 1);
    CHECK(occurrences(html, concat("<th scope=\"col\">", word, "</th>")) == 1);
    CHECK(std::ranges::count(data["categories"], word) == 1);
  }
  CHECK_THAT(html, ContainsSubstring("Hatched:"));
  spans.erase(spans.begin() + 2);
  CHECK_THAT(timeline_of(spans), !ContainsSubstring("Hatched:"));
}

TEST_CASE("a span's name cannot end the script that holds it", "[trace]") {
  std::vector<RankTrace> ranks = test::sample_traces(1, 1);
  ranks[0].spans[0].name = "</script><b>";
  const std::string html = timeline(ranks);
  CHECK(html.find("</script><b>") == std::string::npos);
  CHECK(timeline_data(html)["spans"][0][6] == "</script><b>");
}

TEST_CASE("an empty recording and an empty chart say so", "[trace]") {
  CHECK_THAT(timeline({}), ContainsSubstring("No step was recorded"));
  CHECK_THAT(timeline(std::vector<RankTrace>(2)), ContainsSubstring("No step was recorded"));
  CHECK_THAT(line_chart({.title = "Loss", .x_label = "", .y_label = "", .series = {}}),
             ContainsSubstring("Nothing recorded"));
}

TEST_CASE("a chart draws each series, leaves gaps for what is not finite, and scales to its values", "[trace]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = line_chart({.title = "Loss",
                                      .x_label = "step",
                                      .y_label = "nats",
                                      .series = {{"a<b", {0, 1, 2, 3, 4}, {1, 2, nan, 4, 3}}, {"c", {2}, {5}}}});
  CHECK(occurrences(svg, "<path class=\"line") == 2);
  const std::string path = between(svg, "<path class=\"line s0\" d=\"", "\"");
  CHECK(occurrences(path, "M") == 2);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(occurrences(svg, "<circle class=\"point s1\"") == 1);  // a single value can be seen
  CHECK(occurrences(svg, "<circle class=\"point s0\"") == 0);
  CHECK(svg.find("a&lt;b") != std::string::npos);
  CHECK(path.starts_with("M60.0 205.0"));  // the lowest value, at the left end, in the lower left corner
  CHECK_THROWS_AS(line_chart({.title = "", .x_label = "", .y_label = "", .series = {{"a", {1, 2}, {1}}}}),
                  ContractError);
}

TEST_CASE("a constant, a single point and a rate from zero have an axis", "[trace]") {
  const auto chart = [](std::vector<double> x, std::vector<double> y, bool from_zero) {
    return line_chart({.title = "t",
                       .x_label = "x",
                       .y_label = "y",
                       .series = {{"s", std::move(x), std::move(y)}},
                       .starts_at_zero = from_zero});
  };
  CHECK(occurrences(chart({1, 2}, {3, 3}, false), "class=\"grid\"") >= 2);
  CHECK(occurrences(chart({1}, {0}, false), "class=\"grid\"") >= 2);
  CHECK_THAT(chart({1, 2}, {500, 600}, true), ContainsSubstring(">0</text>"));
  CHECK(chart({1, 2}, {500, 600}, false).find(">0</text>") == std::string::npos);
  const std::size_t lines = occurrences(chart({1, 2}, {1, std::nextafter(1.0, 2.0)}, false), "class=\"grid\"");
  CHECK(lines >= 2);  // as for a constant, not without end
  CHECK(lines < 20);
}

TEST_CASE("a long series is thinned to its extremes, a spike stays", "[trace]") {
  Series series{.name = "s", .x = {}, .y = {}};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 77'777 ? 50 : std::sin(i));
  }
  const std::string svg = line_chart({.title = "t", .x_label = "x", .y_label = "y", .series = {series}});
  CHECK(svg.size() < 100'000);
  CHECK(svg.find("77777") != std::string::npos);
}
