#include "grading/secret_number.hpp"

#include "base/sha256.hpp"

namespace lockstep::grading {

std::uint64_t secret_number(std::string_view key, std::string_view name) {
  const auto code = hmac_sha256(key, name);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8U | code[i];
  return number & ((std::uint64_t{1} << 53U) - 1);
}

}  // namespace lockstep::grading
