#include <algorithm>
#include <array>
#include <iomanip>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "base/plain_text.hpp"
#include "base/text.hpp"
#include "trace/report.hpp"

namespace lockstep::trace {

namespace {

using nlohmann::json;

// Work that is not part of an ordinary step and would dwarf it.
bool is_extraordinary(Category category) { return category == Category::kCheckpoint || category == Category::kOther; }

// The last `step_count` steps that every rank has; ordinary ones if there are that many in a row.
std::set<std::int64_t> choose_steps(std::span<const RankTrace> ranks, int step_count) {
  std::map<std::int64_t, std::set<int>> ranks_of_step;
  std::set<std::int64_t> extraordinary;
  for (const RankTrace& trace : ranks)
    for (const SpanRecord& span : trace.spans) {
      ranks_of_step[span.step].insert(trace.rank);
      if (is_extraordinary(span.category)) extraordinary.insert(span.step);
    }
  std::vector<std::int64_t> complete;
  for (const auto& [step, present] : ranks_of_step)
    if (present.size() == ranks.size()) complete.push_back(step);
  const std::size_t count = std::min(complete.size(), static_cast<std::size_t>(std::max(step_count, 1)));
  for (auto end = complete.end(); static_cast<std::size_t>(end - complete.begin()) >= count && count > 0; --end) {
    const auto begin = end - static_cast<std::ptrdiff_t>(count);
    if (std::none_of(begin, end, [&](std::int64_t step) { return extraordinary.contains(step); })) return {begin, end};
  }
  return {complete.end() - static_cast<std::ptrdiff_t>(count), complete.end()};
}

// Words for people, the same in bars, legend and table.
std::string_view label_of(Category category) {
  if (category == Category::kData) return "waiting for data";
  if (category == Category::kWait) return "waiting for other ranks";
  if (category == Category::kOptimizer) return "update";
  return name_of(category);
}

struct Placed {
  SpanRecord span;
  int depth = 0;  // number of enclosing spans in its lane; a wait is drawn on the span that it is a part of
};

// The chosen spans of one lane, with their nesting depth.
std::vector<Placed> place_lane(const RankTrace& trace, int lane, const std::set<std::int64_t>& steps) {
  std::vector<Placed> placed;
  for (const SpanRecord& span : trace.spans)
    if (span.lane == lane && steps.contains(span.step)) placed.push_back({span});
  std::ranges::stable_sort(placed, [](const Placed& a, const Placed& b) {
    return std::pair(a.span.begin_ns, -a.span.end_ns) < std::pair(b.span.begin_ns, -b.span.end_ns);
  });
  std::vector<std::int64_t> open;  // ends of the enclosing spans
  for (Placed& item : placed) {
    while (!open.empty() && open.back() <= item.span.begin_ns) open.pop_back();
    const bool is_part = item.span.category == Category::kWait && !open.empty();
    item.depth = static_cast<int>(open.size()) - (is_part ? 1 : 0);
    open.push_back(item.span.end_ns);
  }
  return placed;
}

using CategoryTimes = std::array<double, kCategoryCount>;  // milliseconds per step

class TimelineWriter {
 public:
  TimelineWriter(std::span<const RankTrace> ranks, int step_count)
      : ranks_(ranks), steps_(choose_steps(ranks, step_count)) {}

  std::string write() {
    for (const RankTrace& trace : ranks_) place_rank(trace);
    if (spans_.empty()) return "<p class=\"note\">No step was recorded on all ranks.</p>\n";
    std::string html = "<section class=\"timeline\">\n" + legend();
    html += "<div class=\"timeline-view\" tabindex=\"0\" role=\"img\" aria-label=\"" + escape_html(describe()) + "\">";
    html += "<noscript>The picture needs JavaScript; the table below does not.</noscript></div>\n";
    html += "<script type=\"application/json\" class=\"timeline-data\">" + data_for_script() + "</script>\n";
    return html + wait_note() + table() + dropped_note() + "</section>\n";
  }

 private:
  void place_rank(const RankTrace& trace) {
    CategoryTimes& times = times_.emplace_back();
    for (int lane = 0; lane < static_cast<int>(trace.lanes.size()); ++lane) {
      const std::vector<Placed> placed = place_lane(trace, lane, steps_);
      if (placed.empty()) continue;
      int deepest = 0;
      for (const Placed& item : placed) {
        deepest = std::max(deepest, item.depth);
        if (item.depth == 0)  // a nested span is part of the outer one; only a wait is also counted on its own
          times[static_cast<std::size_t>(item.span.category)] +=
              static_cast<double>(item.span.end_ns - item.span.begin_ns) / 1e6 / static_cast<double>(steps_.size());
        spans_.push_back({lanes_.size(), item});
      }
      lanes_.push_back(
          {{"rank", trace.rank}, {"name", trace.lanes[static_cast<std::size_t>(lane)]}, {"rows", deepest + 1}});
    }
  }

  [[nodiscard]] std::string data_for_script() const {
    std::int64_t origin = std::numeric_limits<std::int64_t>::max();
    for (const auto& [lane, item] : spans_) origin = std::min(origin, item.span.begin_ns);
    const auto microseconds = [](std::int64_t ns) { return static_cast<double>(ns / 10) / 100; };
    std::map<std::int64_t, double> step_begins;
    json spans = json::array();
    for (const auto& [lane, item] : spans_) {
      const double begin = microseconds(item.span.begin_ns - origin), end = microseconds(item.span.end_ns - origin);
      spans.push_back(
          {lane, item.depth, static_cast<int>(item.span.category), begin, end, item.span.step, item.span.name});
      const auto [entry, is_new] = step_begins.emplace(item.span.step, begin);
      if (!is_new) entry->second = std::min(entry->second, begin);
    }
    json categories = json::array(), steps = json::array();
    for (std::size_t i = 0; i < kCategoryCount; ++i) categories.push_back(label_of(static_cast<Category>(i)));
    for (const auto& [step, begin] : step_begins) steps.push_back({step, begin});
    const json data = {{"lanes", lanes_}, {"spans", spans}, {"categories", categories}, {"steps", steps}};
    std::string text = dump_json(data, kOneLine, BadUtf8::kReplace);
    // A name with "</script>" must not end the element. In JSON, '<' occurs only in strings, which allow escapes.
    for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
    return text;
  }

  [[nodiscard]] bool is_used(std::size_t category) const {
    return std::ranges::any_of(
        spans_, [&](const auto& entry) { return static_cast<std::size_t>(entry.second.span.category) == category; });
  }

  [[nodiscard]] std::string legend() const {
    std::string html = "<p class=\"legend\">";
    for (std::size_t i = 0; i < kCategoryCount; ++i)
      if (is_used(i))
        html += concat("<span class=\"key\"><span class=\"swatch c", i, "\"></span>",
                       label_of(static_cast<Category>(i)), "</span>");
    return html + "</p>\n";
  }

  [[nodiscard]] std::string table() const {
    std::ostringstream html;
    html << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Milliseconds per step\"><table><caption>"
         << (ranks_.size() == 1 ? "Rank " : "Each rank: ") << (ranks_.size() == 1 ? concat(ranks_[0].rank, ": ") : "")
         << "milliseconds per step, " << which_steps() << "</caption><thead><tr><th scope=\"col\">rank</th>";
    for (std::size_t i = 0; i < kCategoryCount; ++i)
      if (is_used(i)) html << "<th scope=\"col\">" << label_of(static_cast<Category>(i)) << "</th>";
    html << "</tr></thead><tbody>\n" << std::fixed << std::setprecision(2);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      html << "<tr><th scope=\"row\">" << ranks_[rank].rank << "</th>";
      for (std::size_t i = 0; i < kCategoryCount; ++i)
        if (is_used(i)) html << "<td>" << times_[rank][i] << "</td>";
      html << "</tr>\n";
    }
    html << "</tbody></table></div>\n";
    return std::move(html).str();
  }

  // Of the table: "mean of steps 28 to 30".
  [[nodiscard]] std::string which_steps() const {
    if (steps_.size() == 1) return concat("step ", *steps_.begin());
    const bool has_gaps = *steps_.rbegin() - *steps_.begin() >= static_cast<std::int64_t>(steps_.size());
    return concat("mean of ", has_gaps ? concat(steps_.size(), " of the ") : "", "steps ", *steps_.begin(), " to ",
                  *steps_.rbegin());
  }

  [[nodiscard]] std::string wait_note() const {
    if (!is_used(static_cast<std::size_t>(Category::kWait))) return "";
    return "<p class=\"note\">Hatched: how long the rank had nothing left to compute and waited for others in the "
           "step, drawn in one piece at the end of backward.</p>\n";
  }

  [[nodiscard]] std::string dropped_note() const {
    std::uint64_t dropped = 0;
    for (const RankTrace& trace : ranks_) dropped += trace.dropped_spans;
    if (dropped == 0) return "";
    return concat("<p class=\"note\">", dropped, " earlier spans were overwritten by later ones.</p>\n");
  }

  [[nodiscard]] std::string describe() const {
    return concat("Timeline of ", counted(ranks_.size(), "rank"), ", steps ", *steps_.begin(), " to ",
                  *steps_.rbegin());
  }

  std::span<const RankTrace> ranks_;
  std::set<std::int64_t> steps_;
  json lanes_ = json::array();
  std::vector<std::pair<std::size_t, Placed>> spans_;  // index into lanes_
  std::vector<CategoryTimes> times_;                   // by index into ranks_
};

}  // namespace

std::string timeline(std::span<const RankTrace> ranks, int step_count) {
  return TimelineWriter(ranks, step_count).write();
}

}  // namespace lockstep::trace
