#include "launch/hosts/host_order.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

constexpr std::array<std::string_view, 4> kReportWords = {"started", "meeting", "failed", "ended"};

/// Reads strings that end with a zero byte, from the front.
class StringReader {
 public:
  explicit StringReader(std::string_view bytes) : left_(bytes) {}

  std::string take() {
    const std::size_t end = left_.find('\0');
    if (end == std::string_view::npos) throw FormatError("the order of an agent ends too early");
    std::string text(left_.substr(0, end));
    left_.remove_prefix(end + 1);  // with the zero
    return text;
  }

  std::size_t take_count() {
    const std::string text = take();
    std::size_t count = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || stop != text.data() + text.size() || count > left_.size())
      throw FormatError("the order of an agent has no such count: " + text);
    return count;
  }

  [[nodiscard]] bool is_empty() const noexcept { return left_.empty(); }

 private:
  std::string_view left_;
};

}  // namespace

std::string encode(const HostOrder& order) {
  std::string bytes;
  const auto put = [&bytes](const std::string& text) { bytes.append(text).push_back('\0'); };
  put(order.mark);
  put(order.name);
  put(order.directory);
  put(order.is_first ? "1" : "0");
  put(std::to_string(order.variables.size()));
  for (const auto& [name, value] : order.variables) {
    put(name);
    put(value);
  }
  put(std::to_string(order.arguments.size()));
  for (const std::string& argument : order.arguments) put(argument);
  return concat(bytes.size(), "\n") + bytes;
}

HostOrder decode_order(std::string_view bytes) {
  StringReader reader(bytes);
  HostOrder order{
      .mark = reader.take(), .name = reader.take(), .directory = reader.take(), .variables = {}, .arguments = {}};
  order.is_first = reader.take_count() != 0;
  for (std::size_t left = reader.take_count(); left > 0; --left) {
    std::string name = reader.take();
    order.variables.emplace_back(std::move(name), reader.take());
  }
  for (std::size_t left = reader.take_count(); left > 0; --left) order.arguments.push_back(reader.take());
  if (!reader.is_empty()) throw FormatError("the order of an agent is followed by something else");
  return order;
}

std::string encode(const HostReport& report, const std::string& mark) {
  std::string text = report.text;
  std::ranges::replace(text, '\n', ' ');
  return concat(mark, " ", kReportWords.at(static_cast<std::size_t>(report.kind)), " ", report.number, " ", text);
}

std::optional<HostReport> decode_report(std::string_view text) {
  const auto next_word = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
  };
  const auto kind = std::ranges::find(kReportWords, next_word());
  const std::string_view digits = next_word();
  int number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (kind == kReportWords.end() || error != std::errc{} || stop != digits.data() + digits.size()) return std::nullopt;
  if (text.starts_with(' ')) text.remove_prefix(1);  // between number and text
  return HostReport{static_cast<HostReport::Kind>(kind - kReportWords.begin()), number, std::string(text)};
}

}  // namespace lockstep::launch
