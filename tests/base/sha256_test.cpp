#include "base/sha256.hpp"

#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("SHA-256 and HMAC-SHA256 give the standards' known answers", "[base]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-4
  CHECK(hex_digits(hmac_sha256("Jefe", "what do ya want for nothing?")) ==  // RFC 4231, test case 2
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}
