#pragma once
/// @file
/// The files report.css and report.js, embedded at compile time.
#include <string_view>

namespace lockstep::trace {

[[nodiscard]] std::string_view report_css() noexcept;
[[nodiscard]] std::string_view report_js() noexcept;

}  // namespace lockstep::trace
