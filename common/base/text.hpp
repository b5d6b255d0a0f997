#pragma once
/// @file
/// Small helpers for building messages.
#include <cstddef>
#include <sstream>
#include <string>
#include <type_traits>

namespace lockstep {

namespace detail {

/// An argument of concat(), and how to print it. Refers to the argument.
struct Part {
  const void* value;
  void (*append)(std::ostream& out, const void* value);
};

/// Prints the null-terminated string at `value`.
void append_characters(std::ostream& out, const void* value);
/// Prints the float at `value`; NaN without its sign.
void append_float(std::ostream& out, const void* value);
/// Prints the double at `value`; NaN without its sign.
void append_double(std::ostream& out, const void* value);

template <typename T>
void append_value(std::ostream& out, const void* value) {
  out << *static_cast<const T*>(value);
}

/// All string literals share one function, whatever their length.
inline Part part_of(const char* const& text) noexcept { return {text, append_characters}; }
inline Part part_of(const float& value) noexcept { return {&value, append_float}; }
inline Part part_of(const double& value) noexcept { return {&value, append_double}; }
template <typename T>
Part part_of(const T& value) noexcept {
  if constexpr (std::is_array_v<T> && std::is_same_v<std::remove_cv_t<std::remove_extent_t<T>>, char>)
    return {value, append_characters};
  else
    return {&value, append_value<T>};
}

[[nodiscard]] std::string join(const Part* parts, std::size_t count);

}  // namespace detail

/// Joins its arguments as `operator<<` prints them: `concat("rank ", 2, ": closed")`. NaN is always "nan": its sign
/// depends on the processor and means nothing.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  const detail::Part all[] = {detail::part_of(parts)..., detail::Part{}};
  return detail::join(all, sizeof...(parts));
}

}  // namespace lockstep
