#include "exercise_tool/loss_chart.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

namespace lockstep::exercise {
namespace {

constexpr std::size_t kChartRows = 12, kChartColumns = 68;

// The mean of the losses in a column, of `columns` for `steps`; NaN after the last loss.
double mean_in_column(const std::vector<double>& losses, std::size_t column, std::size_t columns, std::size_t steps) {
  const std::size_t begin = column * steps / columns;
  const std::size_t end = std::min(losses.size(), (column + 1) * steps / columns);
  if (begin >= end) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += losses[i];
  return sum / static_cast<double>(end - begin);
}

}  // namespace

std::string loss_chart(const std::vector<double>& ours, const std::vector<double>& yours) {
  const std::size_t steps = std::max(ours.size(), yours.size()), columns = std::min(kChartColumns, steps);
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (const std::vector<double>* losses : {&ours, &yours})
    for (const double loss : *losses)
      if (std::isfinite(loss)) lowest = std::min(lowest, loss), highest = std::max(highest, loss);
  if (lowest > highest) lowest = highest = 0;  // no loss is finite
  const double span = highest > lowest ? highest - lowest : 1;
  std::vector<std::string> rows(kChartRows, std::string(columns, ' '));
  const auto draw = [&](const std::vector<double>& losses, char mark) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double loss = mean_in_column(losses, column, columns, steps);
      if (!std::isfinite(loss)) continue;
      const auto row = static_cast<std::size_t>(std::lround((highest - loss) / span * (kChartRows - 1)));
      char& cell = rows[row][column];
      cell = cell == ' ' ? mark : '*';
    }
  };
  draw(ours, 'o');
  draw(yours, 'y');
  std::ostringstream text;
  for (std::size_t row = 0; row < kChartRows; ++row) {
    const double loss = highest - span * static_cast<double>(row) / (kChartRows - 1);
    text << std::fixed << std::setprecision(2) << std::setw(6) << loss << " |"
         << rows[row].substr(0, rows[row].find_last_not_of(' ') + 1) << "\n";
  }
  text << "       +" << std::string(columns, '-') << "\n        step 1 to " << steps
       << "   o ours   y yours   * both\n";
  return text.str();
}

}  // namespace lockstep::exercise
