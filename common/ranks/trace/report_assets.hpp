#pragma once
/// @file
/// The files report.css and report.js, compiled in.
#include <string_view>

namespace lockstep::trace {

/// What report.css holds.
[[nodiscard]] std::string_view report_css() noexcept;
/// What report.js holds.
[[nodiscard]] std::string_view report_js() noexcept;

}  // namespace lockstep::trace
