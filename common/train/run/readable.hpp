#pragma once
/// @file
/// Human-readable numbers.
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep::run {

/// Three significant digits with a suffix: "950", "45.2k", "1.30M", "124M".
[[nodiscard]] std::string short_count(double count);

/// All digits, in groups of three: "842,752".
[[nodiscard]] std::string grouped(std::int64_t count);

/// "17 bytes", "412 KB", "1.1 MB" (powers of 1000, as file managers show them).
[[nodiscard]] std::string short_bytes(std::int64_t bytes);

/// "0:07", "12:03", "1:02:45": rounded to seconds; negative durations become zero.
[[nodiscard]] std::string clock_time(std::chrono::duration<double> duration);

/// A fixed number of decimals: fixed(2.0, 3) is "2.000".
[[nodiscard]] std::string fixed(double value, int digits);

/// As short as "%g" prints: "0.001", "1e-05".
[[nodiscard]] std::string shortest(double value);

/// Ascending numbers with neighbours joined: "0-3, 8".
[[nodiscard]] std::string ranges(std::span<const int> numbers);

}  // namespace lockstep::run
