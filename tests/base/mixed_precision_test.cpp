#include "base/mixed_precision.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("each name of a precision means that precision", "[base]") {
  CHECK(parse_mixed_precision("no", "x") == MixedPrecision::kNo);
  CHECK(parse_mixed_precision("bf16", "x") == MixedPrecision::kBf16);
  CHECK(parse_mixed_precision("fp16", "x") == MixedPrecision::kFp16);
  CHECK(mixed_precision_names() == std::vector<std::string>{"no", "bf16", "fp16"});
  CHECK(name_of(MixedPrecision::kFp16) == "fp16");
}

TEST_CASE("an unknown precision is refused with its place and the names there are", "[base]") {
  CHECK_THROWS_MATCHES(parse_mixed_precision("fp61", "LOCKSTEP_MIXED_PRECISION"), UsageError,
                       Catch::Matchers::Message("LOCKSTEP_MIXED_PRECISION: there is no 'fp61'; did you mean fp16? "
                                                "(no, bf16, fp16)"));
  CHECK_THROWS_AS(parse_mixed_precision("", "--mixed-precision"), UsageError);
  CHECK_THROWS_AS(parse_mixed_precision("BF16", "--mixed-precision"), UsageError);
}
