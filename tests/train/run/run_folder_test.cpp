#include "run/run_folder.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::run;
namespace fs = std::filesystem;

TEST_CASE("jobs that start at once get folders of their own", "[run]") {
  const test::TemporaryFolder out;
  constexpr std::size_t kJobs = 16;
  std::vector<fs::path> folders(kJobs);
  std::vector<std::jthread> jobs;
  for (std::size_t i = 0; i < kJobs; ++i) {
    jobs.emplace_back([&, i] { folders[i] = make_run_folder(out.path() / "runs", "tiny"); });
  }
  jobs.clear();
  const std::set<fs::path> distinct(folders.begin(), folders.end());
  CHECK(distinct.size() == kJobs);
  for (const fs::path& folder : folders) CHECK(fs::is_directory(folder));
}

TEST_CASE("a run folder is named after day, model and number", "[run]") {
  const test::TemporaryFolder out;
  const auto noon = std::chrono::system_clock::from_time_t(1'767'268'800);  // 2026-01-01 12:00 UTC
  CHECK(make_run_folder(out.path(), "tiny", noon).filename() == "2026-01-01-tiny-1");
  CHECK(make_run_folder(out.path(), "tiny", noon).filename() == "2026-01-01-tiny-2");
  CHECK(make_run_folder(out.path(), "small", noon).filename() == "2026-01-01-small-1");
}

TEST_CASE("a folder of runs that cannot be read is an error, and one that is not there has none", "[run]") {
  const test::TemporaryFolder out;
  CHECK_FALSE(latest_run(out.path() / "runs"));
  write_file(out.path() / "file", "");
  CHECK_FALSE(latest_run(out.path() / "file"));
  CHECK_THROWS_WITH(latest_run(out.path() / std::string(300, 'x')), ContainsSubstring("File name too long"));
  fs::create_symlink("loop", out.path() / "loop");
  CHECK_THROWS_WITH(latest_run(out.path() / "loop"), ContainsSubstring("Too many levels of symbolic links"));
}

TEST_CASE("what cannot replace a file leaves nothing beside it", "[run]") {
  const test::TemporaryFolder out;
  fs::create_directories(out.path() / "report.html/in_the_way");
  CHECK_THROWS_AS(replace_file(out.path() / "report.html", "text"), IoError);
  CHECK(std::distance(fs::directory_iterator(out.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a folder that cannot be made is named", "[run]") {
  const test::TemporaryFolder out;
  write_file(out.path() / "file", "");
  CHECK_THROWS_WITH(make_run_folder(out.path() / "file" / "runs", "tiny"), ContainsSubstring("file/runs"));
}

TEST_CASE("the latest run is the one that saved last, and one without checkpoint does not count", "[run]") {
  const test::TemporaryFolder out;
  CHECK_FALSE(latest_run(out.path() / "absent").has_value());
  const fs::path first = make_run_folder(out.path(), "tiny");
  const fs::path second = make_run_folder(out.path(), "tiny");
  const fs::path third = make_run_folder(out.path(), "tiny");
  fs::create_directories(checkpoints_of(third) / ".incomplete_step_00000001");  // killed in its first save
  CHECK_FALSE(latest_run(out.path()).has_value());
  const auto save = [](const fs::path& run, int hour) {
    fs::create_directories(checkpoints_of(run) / "step_00000001");
    fs::last_write_time(checkpoints_of(run), fs::file_time_type{} + std::chrono::hours(hour));
  };
  save(first, 2);
  save(second, 1);
  CHECK(latest_run(out.path()) == first);
}

TEST_CASE("a run may be named by its folder, its checkpoints or one of them", "[run]") {
  const test::TemporaryFolder out;
  const fs::path run = out / "runs/a";
  for (const char* name : {"step_00000004", "step_00000004.2", "aside_step_00000009"})
    fs::create_directories(run / "checkpoints" / name);
  write_file(run / "checkpoints/aside_step_00000009/manifest.json", "{}");
  CHECK(find_run(run).run == run);
  CHECK_FALSE(find_run(run).checkpoint.has_value());
  CHECK(find_run(run / "checkpoints").run == run);
  CHECK_FALSE(find_run(run / "checkpoints/").checkpoint.has_value());
  for (const char* name :
       {"step_00000004", "step_00000004.2", "step_00000004/", "./step_00000004", "aside_step_00000009"}) {
    const RunAndCheckpoint found = find_run(run / "checkpoints" / name);
    CHECK(found.run == run);
    REQUIRE(found.checkpoint.has_value());
    CHECK(fs::is_directory(*found.checkpoint));
  }
  CHECK_THROWS_AS(find_run("step_00000004"), UsageError);  // not in a folder "checkpoints"
}

TEST_CASE("the ring of an earlier run is read as auto, and that of a later run is a ring", "[run]") {
  const test::TemporaryFolder folder;
  const auto backend_of = [&](const std::string& json) {
    write_file(folder.path() / "options.json", json);
    return run::read_options(folder.path()).at("backend").get<std::string>();
  };
  CHECK(backend_of(R"({"backend": "ring"})") == "auto");
  CHECK(backend_of(R"({"backend": "star"})") == "star");
  CHECK(backend_of(R"({"backend": "nccl"})") == "nccl");
  CHECK(backend_of(R"({"backend": "ring", "backend_used": "ring"})") == "ring");
  CHECK(backend_of(R"({"backend": "auto", "backend_used": "shared_memory"})") == "auto");
}

TEST_CASE("replacing a file leaves nothing else behind", "[run]") {
  const test::TemporaryFolder folder;
  replace_file(folder.path() / "options.json", "old");
  replace_file(folder.path() / "options.json", "new");
  CHECK(read_file(folder.path() / "options.json") == "new");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}) == 1);
}
