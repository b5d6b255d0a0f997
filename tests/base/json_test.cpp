#include "base/json.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("a text that is not UTF-8 is replaced, or named in the error", "[base]") {
  const nlohmann::ordered_json options = {{"model", "tiny"}, {"files", {{"data", "caf\xe9.txt"}}}};
  CHECK(dump_json(options, kOneLine, BadUtf8::kReplace) ==
        "{\"model\":\"tiny\",\"files\":{\"data\":\"caf\xef\xbf\xbd.txt\"}}");
  CHECK_THROWS_WITH(dump_json(options), ContainsSubstring("UTF-8: /files/data is caf\\xe9.txt"));
  CHECK_THROWS_AS(dump_json(options), FormatError);
  CHECK_THROWS_WITH(dump_json(nlohmann::json("\xff")), ContainsSubstring("UTF-8: the text is \\xff"));
  CHECK_THROWS_WITH(dump_json(nlohmann::json{{"\xff", 1}}), ContainsSubstring("UTF-8: a name in /\\xff"));
  CHECK(dump_json(nlohmann::json{{"data", "caf\xc3\xa9.txt"}}) == "{\"data\":\"caf\xc3\xa9.txt\"}");
}
