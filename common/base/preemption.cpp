#include "base/preemption.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 4> kSignals{
    {{"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"XCPU", SIGXCPU}}};

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

bool may_ask_for_a_stop(int signal) {
  const bool is_real_time = signal >= SIGRTMIN && signal <= SIGRTMAX;
  return is_real_time || std::ranges::any_of(kSignals, [signal](const auto& known) { return known.second == signal; });
}

std::optional<int> named_signal(std::string_view name) {
  constexpr std::string_view kPrefix = "SIG", kRealTime = "RTMIN+";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  for (const auto& [known, signal] : kSignals) {
    if (name == known) return signal;
  }
  if (!name.starts_with(kRealTime)) return std::nullopt;
  const std::optional<int> offset = number_in(name.substr(kRealTime.size()));
  if (!offset || *offset < 0 || *offset > SIGRTMAX - SIGRTMIN) return std::nullopt;
  return SIGRTMIN + *offset;
}

}  // namespace

std::optional<int> parse_preempt_signal(const std::string& text) {
  const std::optional<int> number = number_in(text);
  if (!number) return named_signal(text);
  return may_ask_for_a_stop(*number) ? number : std::nullopt;
}

std::optional<int> preempt_signal_of_environment() {
  const auto text = environment::get(kPreemptSignalVariable);
  if (!text) return std::nullopt;
  if (const auto signal = parse_preempt_signal(*text)) return signal;
  throw FormatError(
      concat(kPreemptSignalVariable, " is ", *text, ", must be SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or SIGRTMIN+N"));
}

}  // namespace lockstep
