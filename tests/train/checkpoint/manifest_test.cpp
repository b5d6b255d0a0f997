#include "checkpoint/manifest.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;

namespace {

nlohmann::json valid_manifest() {
  const nlohmann::json entry{{"bytes", 3}, {"xxh3", "0123456789abcdef"}};
  return {{"format", "lockstep checkpoint 1"},
          {"step", 12},
          {"files", {{kModelFile, entry}, {kOptimizerFile, entry}, {kStateFile, entry}}}};
}

// The message with which a manifest is refused; empty if it is accepted.
std::string refusal_of_manifest(const nlohmann::json& manifest) {
  try {
    (void)parse_manifest(dump_json(manifest), "manifest.json");
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a manifest reads back as written", "[checkpoint]") {
  const Manifest manifest = parse_manifest(dump_json(valid_manifest()), "manifest.json");
  CHECK(manifest.step == 12);
  REQUIRE(manifest.files.size() == 3);
  CHECK(manifest.files.front() == FileEntry{kModelFile, 3, "0123456789abcdef"});
  CHECK(parse_manifest(to_text(manifest), "manifest.json") == manifest);
}

TEST_CASE("a manifest is refused for what is wrong with it", "[checkpoint]") {
  using Pointer = nlohmann::json::json_pointer;
  struct Case {
    const char* place;
    nlohmann::json value;
    std::string message;
  };
  const std::vector<Case> cases{
      {"/format", "another", "not the manifest of a"},
      {"/step", -1, "does not say of which step"},
      {"/step", 1.5, "does not say of which step"},
      {"/files", nlohmann::json::array(), "does not list model.safetensors"},
      {"/files/..", {{"bytes", 3}, {"xxh3", "0123456789abcdef"}}, "the entry of .. is not a file name"},
      {"/files/a~1b", {{"bytes", 3}, {"xxh3", "0123456789abcdef"}}, "the entry of a/b is not a file name"},
      {"/files/state.json/bytes", -3, "the entry of state.json"},
      {"/files/state.json/xxh3", "0123456789ABCDEF", "the entry of state.json"},
      {"/files/state.json", nullptr, "the entry of state.json"}};
  for (const Case& wrong : cases) {
    nlohmann::json manifest = valid_manifest();
    manifest[Pointer(wrong.place)] = wrong.value;
    CAPTURE(wrong.place);
    CHECK_THAT(refusal_of_manifest(manifest), ContainsSubstring(wrong.message));
  }
}

TEST_CASE("JSON that is cut off, or nothing but brackets, is refused with the file's name", "[checkpoint]") {
  CHECK_THROWS_WITH(parse_json("{\"a\": 1", "x.json"), ContainsSubstring("x.json: not JSON"));
  CHECK_THROWS_WITH(parse_json(std::string(200'000, '['), "x.json"), ContainsSubstring("x.json: nested deeper than"));
}
