#include "quoted_messages.hpp"

#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;

namespace {

const std::string kSource =
    "throw Error(concat(\"no data from \", peer, \" for \", time, \" (\", bytes, \" bytes)\"));\n";

Problems problems_of(const std::string& page) {
  return check_quoted_messages(TemporaryTree(Files{{"docs/a.md", page}, {"common/x/a.cpp", kSource}}).root(),
                               "docs/a.md");
}

}  // namespace

TEST_CASE("Messages that a source prints are accepted, whatever stands for …", "[course]") {
  CHECK(problems_of("| message | cause |\n|---|---|\n| `no data from … for …`, `(… bytes)` | `elsewhere` |\n").empty());
}

TEST_CASE("Messages that no source prints are rejected", "[course]") {
  CHECK(problems_of("Text.\n\n| message | cause |\n|---|---|\n| `no data from … since …` | x |\n") ==
        Problems{"docs/a.md:5: no source has \"since\""});
}

TEST_CASE("Tables without messages are left alone", "[course]") {
  CHECK(problems_of("| message |\n|---|\n| `no data from …` |\n\n| symptom |\n|---|\n| `anything` |\n").empty());
}

TEST_CASE("The project's troubleshooting page quotes what the programs print", "[course]") {
  const Problems problems = check_quoted_messages(LOCKSTEP_SOURCE_DIR, "docs/troubleshooting.md");
  for (const std::string& problem : problems) UNSCOPED_INFO(problem);
  CHECK(problems.empty());
}
