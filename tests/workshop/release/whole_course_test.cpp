#include <filesystem>

#include "release/copy.hpp"
#include "release/release_check.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::release;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = LOCKSTEP_SOURCE_DIR;

// All files tracked by git, and perhaps some others. Works without git, which a test machine may lack.
std::vector<std::string> files_of_the_course() {
  std::vector<std::string> files;
  for (auto at = fs::recursive_directory_iterator(kRoot); at != fs::recursive_directory_iterator(); ++at) {
    const std::string path = at->path().lexically_relative(kRoot).string();
    if (path == ".git" || path == ".lockstep" || path == "build" || path == "runs" || path == "work")
      at.disable_recursion_pending();
    else if (!at->is_directory())
      files.push_back(path);
  }
  return files;
}

}  // namespace

// Without the compiled parts: `./lockstep release` takes minutes.
TEST_CASE("The texts of a release of the whole course hold no answer", "[release]") {
  const Plan plan = plan_release(kRoot, files_of_the_course(), {});
  const Answers answers = answers_of(kRoot, plan.exercises);
  REQUIRE(answers.size() > 1000);
  const lockstep::test::TemporaryFolder folder;
  copy_files(kRoot, plan, answers, folder.path());
  CHECK(check_release(folder.path(), answers, plan.shown) == std::vector<std::string>{});
}

TEST_CASE("A release of one chapter has what its exercises need, and gives nothing else away", "[release]") {
  const Plan plan = plan_release(kRoot, files_of_the_course(), {"01"});
  REQUIRE(plan.exercises.size() == 4);
  CHECK(plan.has("exercises/01_mini_all_reduce/1_framing/framing.cpp"));
  CHECK(plan.has("tests/exercises/01_mini_all_reduce/1_framing/subject.cpp"));
  CHECK_FALSE(plan.has("exercises/02_ring_all_reduce/1_reduce_scatter"));
  CHECK_FALSE(plan.has("common/ranks/net/frame.cpp"));
  CHECK_FALSE(plan.has("common/ranks/net/stream_socket.cpp"));  // named with a function
  CHECK(plan.has("chapters/02_ring_all_reduce/ring_process_group.cpp"));
  CHECK(plan.has("common/workshop/exercise/alternatives.hpp"));  // named as parts of judges, but none
  CHECK(plan.has("common/ranks/comm/control/hub/judge.cpp"));
  CHECK_FALSE(plan.has("tests/exercises/01_mini_all_reduce/1_framing/judge.cpp"));
  CHECK_FALSE(plan.has("solutions"));
}

TEST_CASE("A word that names no exercise is refused, and not left out", "[release]") {
  for (const char* word : {"2.1", "02.99", "ring"})
    CHECK_THROWS_WITH(plan_release(kRoot, {}, {"01", word}),
                      Catch::Matchers::ContainsSubstring("there is no exercise or chapter " + std::string(word)));
}
