#include "run/readable.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace lockstep::run {
namespace {

// Three significant digits of a value in [0, 1000).
std::string three_digits(double value) { return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

}  // namespace

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";  // its sign means nothing
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return std::move(out).str();
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  std::ostringstream out;
  out << value;
  return std::move(out).str();
}

std::string short_count(double count) {
  constexpr std::array<const char*, 4> kSuffixes{"", "k", "M", "G"};
  std::size_t suffix = 0;
  while (count >= 999.5 && suffix + 1 < kSuffixes.size()) {
    count /= 1000.0;
    ++suffix;
  }
  return suffix == 0 ? fixed(count, 0) : three_digits(count) + kSuffixes[suffix];
}

std::string grouped(std::int64_t count) {
  std::string digits = std::to_string(std::abs(count));
  for (auto place = static_cast<std::int64_t>(digits.size()) - 3; place > 0; place -= 3) {
    digits.insert(static_cast<std::size_t>(place), 1, ',');
  }
  if (count < 0) digits.insert(digits.begin(), '-');
  return digits;
}

std::string short_bytes(std::int64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  const auto value = static_cast<double>(bytes);
  if (bytes < 999'500) return fixed(value / 1e3, 0) + " KB";  // more would round to 1000 KB
  if (bytes < 999'950'000) return fixed(value / 1e6, 1) + " MB";
  return fixed(value / 1e9, 1) + " GB";
}

std::string clock_time(std::chrono::duration<double> duration) {
  const auto seconds = static_cast<std::int64_t>(std::llround(std::max(0.0, duration.count())));
  std::ostringstream out;
  out << std::setfill('0');
  if (seconds >= 3600) out << seconds / 3600 << ':' << std::setw(2);
  out << seconds / 60 % 60 << ':' << std::setw(2) << seconds % 60;
  return std::move(out).str();
}

std::string ranges(std::span<const int> numbers) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[begin]);
    if (end - begin > 1) text += "-" + std::to_string(numbers[end - 1]);
  }
  return text;
}

}  // namespace lockstep::run
