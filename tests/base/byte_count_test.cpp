#include "base/byte_count.hpp"

#include <cstdint>
#include <string>

#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("numbers of bytes are read with binary and decimal units", "[base]") {
  CHECK(parse_byte_count("4096") == 4096U);
  CHECK(parse_byte_count("4096B") == 4096U);
  CHECK(parse_byte_count("64KiB") == 65536U);
  CHECK(parse_byte_count("200MiB") == 209715200U);
  CHECK(parse_byte_count("1.5GiB") == 1610612736U);
  CHECK(parse_byte_count("0.5TiB") == (std::uint64_t{1} << 39));
  CHECK(parse_byte_count("250MB") == 250'000'000U);
  CHECK(parse_byte_count("1.5B") == 1U);
  for (const char* wrong : {"", "MiB", "200 MiB", "200mib", "-1MiB", "+1MiB", "1e3MiB", "1.2.3MiB", ".", "200M", "nan",
                            "inf", "9999999999TiB", "0x10"}) {
    INFO(wrong);
    CHECK_FALSE(parse_byte_count(wrong).has_value());
    CHECK_THAT(byte_count()(wrong), ContainsSubstring("is not a number of bytes: write 200MiB"));
  }
  CHECK(byte_count()("0") != "");
  CHECK(byte_count()("1").empty());
}
