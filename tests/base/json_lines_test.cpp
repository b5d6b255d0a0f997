#include "base/json_lines.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

struct Read {
  std::vector<std::string> lines;
  std::string warning;
};

Read read(const std::string& bytes) {
  const test::TemporaryFolder folder;
  write_file(folder / "log.jsonl", bytes);
  const test::CapturedStderr err;
  Read result;
  for_each_json_line(folder / "log.jsonl", [&](const nlohmann::json& json, std::string_view /*line*/) {
    if (json.contains("refused")) throw FormatError("refused");
    result.lines.push_back(json.dump());
  });
  result.warning = err.text();
  return result;
}

}  // namespace

TEST_CASE("a log with the marks of a crash is read as far as it can be", "[base]") {
  const std::vector<std::string> both{R"({"a":1})", R"({"a":2})"};
  const std::string first = "{\"a\": 1}\n", second = "{\"a\": 2}\n";
  CHECK(read(first + second).warning.empty());
  for (const std::string& bytes :
       {first + second, first + "\n \r\n" + second, first + second + "{\"a\": 3", first + second.substr(0, 8),
        first + std::string(7, '\0') + second, first + second + std::string(512, '\0')}) {
    CHECK(read(bytes).lines == both);
    CHECK(read(bytes).warning.empty());
  }
  for (const std::string& bytes :
       {first + "{\"a\": \n" + second, first + "{\"refused\": 0}\n" + second, first + "[1, 2\n{\"b\n" + second,
        first + "\xFF\xFE\n" + second, first + std::string(5, '\0') + "\n" + second}) {
    CHECK(read(bytes).lines == both);
    CHECK_THAT(read(bytes).warning, ContainsSubstring("log.jsonl: ") && ContainsSubstring("line 2: "));
  }
  CHECK(read("").lines.empty());
  CHECK_THROWS_AS(for_each_json_line("/nowhere/log", {}), IoError);
}

TEST_CASE("numbers that JSON does not have are null, and the same letters in a string stay", "[base]") {
  const Read found = read(R"({"loss": NaN, "a": [-Infinity, Infinity], "s": "a \" NaN\\", "t": NaN})"
                          "\n");
  REQUIRE(found.lines.size() == 1);
  CHECK(found.lines[0] == R"({"a":[null,null],"loss":null,"s":"a \" NaN\\","t":null})");
  CHECK(found.warning.empty());
}
