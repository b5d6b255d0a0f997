#include "base/text.hpp"

#include <cmath>

namespace lockstep::detail {
namespace {

template <typename Number>
void append_number(std::ostream& out, Number number) {
  if (std::isnan(number))
    out << "nan";
  else
    out << number;
}

}  // namespace

void append_characters(std::ostream& out, const void* value) { out << static_cast<const char*>(value); }
void append_float(std::ostream& out, const void* value) { append_number(out, *static_cast<const float*>(value)); }
void append_double(std::ostream& out, const void* value) { append_number(out, *static_cast<const double*>(value)); }

std::string join(const Part* parts, std::size_t count) {
  std::ostringstream out;
  for (const Part* part = parts; part != parts + count; ++part) part->append(out, part->value);
  return std::move(out).str();
}

}  // namespace lockstep::detail
