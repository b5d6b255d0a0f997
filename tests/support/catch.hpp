#pragma once
/// @file
/// Catch2 2.13 (Debian 12) and 3.x (Debian 13) behind one include.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // version 2 declares it globally
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
/// Version 3's name for version 2's `Contains`.
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
}  // namespace Catch::Matchers
#endif
using Catch::Matchers::ContainsSubstring;
