#pragma once
/// @file
/// Small helpers for building messages.
#include <cstddef>
#include <sstream>
#include <string>
#include <type_traits>

namespace lockstep {

namespace detail {

/// An argument of concat(), and how it is printed. Refers to it.
struct Part {
  const void* value;                                     ///< The argument.
  void (*append)(std::ostream& out, const void* value);  ///< Prints it.
};

/// Prints the characters that `value` points to, up to a 0.
void append_characters(std::ostream& out, const void* value);
/// Prints the number that `value` points to, NaN without its sign.
void append_float(std::ostream& out, const void* value);
/// Prints the number that `value` points to, NaN without its sign.
void append_double(std::ostream& out, const void* value);

/// Prints any other value.
template <typename T>
void append_value(std::ostream& out, const void* value) {
  out << *static_cast<const T*>(value);
}

/// How an argument is printed. Literals of all lengths share one function.
inline Part part_of(const char* const& text) noexcept { return {text, append_characters}; }
/// How an argument is printed.
inline Part part_of(const float& value) noexcept { return {&value, append_float}; }
/// How an argument is printed.
inline Part part_of(const double& value) noexcept { return {&value, append_double}; }
/// How an argument is printed.
template <typename T>
Part part_of(const T& value) noexcept {
  if constexpr (std::is_array_v<T> && std::is_same_v<std::remove_cv_t<std::remove_extent_t<T>>, char>)
    return {value, append_characters};
  else
    return {&value, append_value<T>};
}

/// All of them, one after another.
[[nodiscard]] std::string join(const Part* parts, std::size_t count);

}  // namespace detail

/// Joins its arguments as `operator<<` prints them, NaN always as "nan", without its sign, which depends on the
/// processor and means nothing: `concat("rank ", 2, ": closed")`.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  const detail::Part all[] = {detail::part_of(parts)..., detail::Part{}};
  return detail::join(all, sizeof...(parts));
}

}  // namespace lockstep
