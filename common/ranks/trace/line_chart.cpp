#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/plain_text.hpp"
#include "trace/report.hpp"

namespace lockstep::trace {

namespace {

// Geometry in SVG units; the SVG scales with the page.
constexpr double kWidth = 520, kHeight = 250;
constexpr double kLeft = 60, kRight = 496, kTop = 10, kBottom = 205;
constexpr std::size_t kSeriesColours = 6;  // report.css: --s0 to --s5
constexpr std::size_t kMaxPoints = 1000;   // per series; the chart has no more pixels

struct Range {
  double low = 0, high = 1;
  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

struct Ticks {
  Range range;      // extended to whole ticks
  double step = 1;  // 1, 2 or 5 times a power of ten
};

// About `count` round numbers that cover [low, high]. Values that differ only by rounding count as equal: ticks between
// them would be so close that adding the step does not change a tick.
Ticks choose_ticks(Range data, int count) {
  constexpr double kRounding = 1e-12;
  if (!(data.high - data.low > kRounding * std::max(std::abs(data.low), std::abs(data.high)))) {
    const double margin = std::max(std::abs(data.low) * 0.05, 0.5);
    data = {data.low - margin, data.high + margin};
  }
  const double raw = (data.high - data.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double mantissa = raw / power;
  const double step = power * (mantissa <= 1 ? 1 : mantissa <= 2 ? 2 : mantissa <= 5 ? 5 : 10);
  return {{std::floor(data.low / step) * step, std::ceil(data.high / step) * step}, step};
}

std::string format_number(double value, double step) {
  const double magnitude = std::abs(value);
  std::ostringstream text;
  if (step >= 1e6)
    text << value / 1e6 << "M";
  else if (step >= 1e3 && magnitude >= 1e3)
    text << value / 1e3 << "k";
  else
    text << std::fixed << std::setprecision(std::clamp(static_cast<int>(std::ceil(-std::log10(step))), 0, 9)) << value;
  return std::move(text).str();
}

// Thins a series to its extremes: keeps the lowest and the highest of each run of points.
Series thin_out(const Series& series) {
  if (series.x.size() <= kMaxPoints) return series;
  Series thin{.name = series.name, .x = {}, .y = {}};
  const std::size_t run = (2 * series.x.size() + kMaxPoints - 1) / kMaxPoints;  // two of each run are kept
  for (std::size_t begin = 0; begin < series.x.size(); begin += run) {
    const auto first = series.y.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = series.y.begin() + static_cast<std::ptrdiff_t>(std::min(begin + run, series.y.size()));
    auto [low, high] = std::minmax_element(first, last);
    if (low > high) std::swap(low, high);
    for (const auto point : {low, high}) {
      thin.x.push_back(series.x[static_cast<std::size_t>(point - series.y.begin())]);
      thin.y.push_back(*point);
      if (low == high) break;
    }
  }
  return thin;
}

class ChartWriter {
 public:
  explicit ChartWriter(const Chart& chart) : chart_(chart) {
    Range x{HUGE_VAL, -HUGE_VAL}, y{HUGE_VAL, -HUGE_VAL};
    for (const Series& series : chart.series) {
      require(series.x.size() == series.y.size(), "chart ", chart.title, ": series ", series.name, " has ",
              series.x.size(), " x and ", series.y.size(), " y");
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) continue;
        x = {std::min(x.low, series.x[i]), std::max(x.high, series.x[i])};
        y = {std::min(y.low, series.y[i]), std::max(y.high, series.y[i])};
      }
    }
    is_empty_ = x.low > x.high;
    if (is_empty_) return;
    if (chart.starts_at_zero) y.low = std::min(y.low, 0.0);
    x_ticks_ = choose_ticks(x, 6);
    if (x.high > x.low) x_ticks_.range = x;  // no empty space beside the curve
    y_ticks_ = choose_ticks(y, 5);
    for (const Series& series : chart.series) series_.push_back(thin_out(series));
  }

  std::string write() {
    out_ << "<figure class=\"chart\"><figcaption><h3>" << escape_html(chart_.title) << "</h3>";
    if (is_empty_) {
      out_ << "</figcaption><p class=\"note\">Nothing recorded.</p></figure>\n";
      return std::move(out_).str();
    }
    write_legend();
    out_ << "</figcaption>\n<svg viewBox=\"0 0 " << kWidth << ' ' << kHeight << "\" role=\"img\" aria-label=\""
         << escape_html(describe()) << "\" data-chart=\"" << escape_html(points_for_script()) << "\">\n";
    write_axes();
    for (std::size_t i = 0; i < series_.size(); ++i) write_line(i);
    out_ << "<g class=\"cursor\"></g>\n</svg></figure>\n";
    return std::move(out_).str();
  }

 private:
  [[nodiscard]] double x_of(double value) const { return kLeft + x_ticks_.range.share(value) * (kRight - kLeft); }
  [[nodiscard]] double y_of(double value) const { return kBottom - y_ticks_.range.share(value) * (kBottom - kTop); }

  void write_legend() {
    out_ << "<span class=\"legend\">";
    for (std::size_t i = 0; i < series_.size(); ++i)
      out_ << "<span class=\"key\"><svg viewBox=\"0 0 24 8\" aria-hidden=\"true\"><line x1=\"0\" y1=\"4\" x2=\"24\" "
              "y2=\"4\" class=\"s"
           << i % kSeriesColours << "\"/></svg>" << escape_html(series_[i].name) << "</span>";
    out_ << "</span>";
  }

  void write_axes() {
    for (double value = y_ticks_.range.low; value <= y_ticks_.range.high + y_ticks_.step / 2; value += y_ticks_.step) {
      const double y = y_of(value);
      out_ << "<line class=\"grid\" x1=\"" << kLeft << "\" x2=\"" << kRight << "\" y1=\"" << y << "\" y2=\"" << y
           << "\"/><text class=\"tick\" x=\"" << kLeft - 8 << "\" y=\"" << y + 4 << "\" text-anchor=\"end\">"
           << format_number(std::abs(value) < y_ticks_.step / 1e6 ? 0 : value, y_ticks_.step) << "</text>\n";
    }
    const double first = std::ceil(x_ticks_.range.low / x_ticks_.step - 1e-9) * x_ticks_.step;
    for (double value = first; value <= x_ticks_.range.high + x_ticks_.step * 1e-9; value += x_ticks_.step)
      out_ << "<line class=\"axis\" x1=\"" << x_of(value) << "\" x2=\"" << x_of(value) << "\" y1=\"" << kBottom
           << "\" y2=\"" << kBottom + 5 << "\"/><text class=\"tick\" x=\"" << x_of(value) << "\" y=\"" << kBottom + 18
           << "\" text-anchor=\"middle\">" << format_number(value, x_ticks_.step) << "</text>\n";
    out_ << "<line class=\"axis\" x1=\"" << kLeft << "\" x2=\"" << kRight << "\" y1=\"" << kBottom << "\" y2=\""
         << kBottom << "\"/>\n<text class=\"label\" x=\"" << (kLeft + kRight) / 2 << "\" y=\"" << kHeight - 6
         << "\" text-anchor=\"middle\">" << escape_html(chart_.x_label)
         << "</text>\n<text class=\"label\" transform=\"translate(14 " << (kTop + kBottom) / 2
         << ") rotate(-90)\" text-anchor=\"middle\">" << escape_html(chart_.y_label) << "</text>\n";
  }

  // One path, which a value that is not finite interrupts; a value between two such, or a single one, is a dot.
  void write_line(std::size_t index) {
    const Series& series = series_[index];
    const auto is_point = [&series](std::size_t i) {
      return i < series.x.size() && std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
    };
    out_ << "<path class=\"line s" << index % kSeriesColours << "\" d=\"" << std::fixed << std::setprecision(1);
    bool is_drawing = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (is_point(i)) out_ << (is_drawing ? 'L' : 'M') << x_of(series.x[i]) << ' ' << y_of(series.y[i]);
      is_drawing = is_point(i);
    }
    out_ << "\"/>\n";
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!is_point(i) || is_point(i + 1) || (i > 0 && is_point(i - 1))) continue;
      out_ << "<circle class=\"point s" << index % kSeriesColours << "\" cx=\"" << x_of(series.x[i]) << "\" cy=\""
           << y_of(series.y[i]) << "\" r=\"4\"/>\n";
    }
    out_ << std::defaultfloat << std::setprecision(6);
  }

  // The data with which the script shows values under the pointer.
  [[nodiscard]] std::string points_for_script() const {
    nlohmann::json json = {{"x0", x_ticks_.range.low},
                           {"x1", x_ticks_.range.high},
                           {"y0", y_ticks_.range.low},
                           {"y1", y_ticks_.range.high},
                           {"left", kLeft},
                           {"right", kRight},
                           {"top", kTop},
                           {"bottom", kBottom},
                           {"xLabel", chart_.x_label},
                           {"series", nlohmann::json::array()}};
    for (const Series& series : series_)
      json["series"].push_back({{"name", series.name}, {"x", series.x}, {"y", series.y}});
    return dump_json(json, kOneLine, BadUtf8::kReplace);
  }

  // For screen readers: the beginning and end of each curve.
  [[nodiscard]] std::string describe() const {
    std::string text = chart_.title + " over " + chart_.x_label + ".";
    for (const Series& series : series_)
      if (!series.y.empty())
        text += concat(' ', series.name, ": ", series.y.front(), " at ", series.x.front(), ", ", series.y.back(),
                       " at ", series.x.back(), '.');
    return text;
  }

  const Chart& chart_;
  std::vector<Series> series_;
  bool is_empty_ = false;
  Ticks x_ticks_, y_ticks_;
  std::ostringstream out_;
};

}  // namespace

std::string line_chart(const Chart& chart) { return ChartWriter(chart).write(); }

}  // namespace lockstep::trace
