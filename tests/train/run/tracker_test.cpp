// The trackers' files, read by readers that share no code with their writers.
#include "run/tracker.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/event_file.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using run::Scalars;
using test::fields_of;
using test::number_in;
using test::records_of;

namespace {

fs::path only_file_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  REQUIRE(paths.size() == 1);
  return paths.front();
}

}  // namespace

TEST_CASE("the test's checksum is CRC-32C", "[run][tracker]") {
  CHECK(test::crc32c("123456789") == 0xE3069283);              // the catalogue's check value
  CHECK(test::crc32c(std::string(32, '\0')) == 0x8A9136AA);    // RFC 3720, B.4
  CHECK(test::crc32c(std::string(32, '\xFF')) == 0x62A8AB43);  // RFC 3720, B.4
}

TEST_CASE("event files are records with checksums, and events as TensorBoard's schema has them", "[run][tracker]") {
  const test::TemporaryFolder folder;
  const std::int64_t step = GENERATE(0, 1, 127, 128, 300, std::int64_t{1} << 40);
  {
    const auto tracker = run::make_tracker("tensorboard", folder.path());
    tracker->log({{"loss", 2.3125}, {"learning_rate", 0.1}}, step);
    tracker->log({{"train/loss \xC3\xA4", -1e-3}}, step + 1);
    tracker->log({}, step + 2);
  }
  const fs::path path = only_file_in(folder.path());
  CHECK(path.filename().string().starts_with("events.out.tfevents."));
  const auto records = records_of(read_file(path));
  REQUIRE(records.size() == 4);
  const auto version = fields_of(records[0]);
  CHECK(version.find(3)->second == "brain.Event:2");
  CHECK(number_in<double>(version, 1) > 1.7e9);  // seconds since 1970
  std::vector<std::pair<std::string, float>> scalars;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto event = fields_of(records[i]);
    CHECK(event.find(2)->second == std::to_string(step + static_cast<std::int64_t>(i) - 1));
    const auto summary = fields_of(event.find(5)->second);
    for (const auto& [number, value] : summary) {
      REQUIRE(number == 1);
      const auto fields = fields_of(value);
      scalars.emplace_back(fields.find(1)->second, number_in<float>(fields, 2));
    }
  }
  CHECK(scalars == std::vector<std::pair<std::string, float>>{
                       {"learning_rate", 0.1F}, {"loss", 2.3125F}, {"train/loss \xC3\xA4", -1e-3F}});
}

TEST_CASE("JSON lines keep every bit, and a second tracker appends to the first one's records", "[run][tracker]") {
  const test::TemporaryFolder folder;
  run::make_tracker("jsonl", folder.path())->log({{"loss", 0.1 + 0.2}, {"x", NAN}}, 3);
  run::make_tracker("jsonl", folder.path())->log({{"loss", 1e300}}, 4);
  std::istringstream lines(read_file(folder / "metrics.jsonl"));
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  REQUIRE(objects.size() == 2);
  CHECK(objects[0] == nlohmann::json{{"step", 3}, {"loss", 0.1 + 0.2}, {"x", nullptr}});
  CHECK(objects[1] == nlohmann::json{{"step", 4}, {"loss", 1e300}});
}

TEST_CASE("half a line that a killed process has left is removed, and only that", "[run][tracker][fault]") {
  const std::string first = "{\"step\":1,\"loss\":2.0}\n", next = "{\"step\":3,\"loss\":1.0}\n";
  const std::string torn = GENERATE(std::string(R"({"step":2,"lo)"), std::string(5000, '\0'), std::string("\xC3"),
                                    std::string(4095, 'x'), std::string(4096, 'x'));
  const test::TemporaryFolder folder;
  const fs::path file = folder / "metrics.jsonl";
  write_file(file, first + torn);
  std::string said;
  {
    const test::CapturedStderr captured;
    run::make_tracker("jsonl", folder.path())->log({{"loss", 1}}, 3);
    said = captured.text();
  }
  CHECK(read_file(file) == first + next);
  CHECK_THAT(said, ContainsSubstring(concat("metrics.jsonl ended in half a line of ", torn.size(), " bytes")));
  // Whole lines stay, also blank ones, and a file that has nothing else begins anew.
  write_file(file, first + "\n");
  run::make_tracker("jsonl", folder.path())->log({{"loss", 1}}, 3);
  CHECK(read_file(file) == first + "\n" + next);
  write_file(file, "{\"st");
  run::make_tracker("jsonl", folder.path())->log({{"loss", 1}}, 3);
  CHECK(read_file(file) == next);
}

TEST_CASE("no scalar takes the place of the step or of another scalar, whatever it is called", "[run][tracker]") {
  const Scalars values{{"loss", 1},     {"step", 2},     {"step (2)", 3},         {"bad \xFF", 4},
                       {"bad \xFE", 5}, {"cut \xC3", 6}, {"bad \xEF\xBF\xBD", 7}, {"", 8}};
  const test::TemporaryFolder folder;
  run::make_tracker("jsonl", folder.path())->log(values, 30);
  const auto line = nlohmann::json::parse(read_file(folder / "metrics.jsonl"));
  CHECK(line.at("step") == 30);
  CHECK(line.at("step (2)") == 3);  // keeps its name
  CHECK(line.at("step (3)") == 2);
  CHECK(line.at("bad \xEF\xBF\xBD") == 7);
  CHECK(line.at("bad \xEF\xBF\xBD (2)") == 5);
  CHECK(line.at("bad \xEF\xBF\xBD (3)") == 4);
  CHECK(line.at("cut \xEF\xBF\xBD") == 6);
  CHECK(line.at("") == 8);
  CHECK(line.size() == 1 + values.size());
}

TEST_CASE("tags of event files are UTF-8, or TensorBoard would drop the event", "[run][tracker]") {
  const test::TemporaryFolder folder;
  run::make_tracker("tensorboard", folder.path())->log({{"a \xFF", 1}, {"step", 2}}, 3);
  const auto event = fields_of(records_of(read_file(only_file_in(folder.path()))).at(1));
  std::vector<std::string> tags;
  for (const auto& [number, value] : fields_of(event.find(5)->second)) tags.push_back(fields_of(value).find(1)->second);
  CHECK(tags == std::vector<std::string>{"a \xEF\xBF\xBD", "step"});
}

TEST_CASE("an unknown tracker and a folder that is not there are named", "[run][tracker][fault]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(run::make_tracker("wandb", folder.path()), ContainsSubstring("jsonl and tensorboard"));
  CHECK_THROWS_AS(run::make_tracker("jsonl", folder / "nothing"), IoError);
  CHECK_THROWS_AS(run::make_tracker("tensorboard", folder / "nothing")->log({{"loss", 1}}, 1), IoError);
}

TEST_CASE("a session that begins at an earlier step hides what was logged from there on", "[run][tracker]") {
  const test::TemporaryFolder folder;
  const auto tracker = run::make_tensorboard_tracker(folder.path());
  for (const std::int64_t step : {1, 2, 3}) tracker->log({{"loss", 10.0 + static_cast<double>(step)}}, step);
  // The next process has another number: the same file name in the same second would be the same file.
  const test::TemporaryFolder later;
  run::make_tensorboard_tracker(later.path(), 2)->log({{"loss", 22}}, 2);
  fs::rename(only_file_in(later.path()), folder / "events.out.tfevents.9999999999.host.2");
  CHECK(test::read_event_files(folder.path()) == test::EventScalars{{1, {{"loss", 11.0F}}}, {2, {{"loss", 22.0F}}}});
}

TEST_CASE("a tracker that cannot write loses its values, says so once, and goes on when it can",
          "[run][tracker][fault]") {
  const test::TemporaryFolder folder;
  run::Trackers trackers;
  for (const char* const name : {"jsonl", "tensorboard"}) trackers.add(run::make_tracker(name, folder.path()));
  const test::CapturedStderr captured;
  trackers.log({{std::string(8000, 'x'), 2}}, 2);  // the files are longer than what is captured
  {
    const test::FileSizeLimit full(8000);
    for (const std::int64_t step : {3, 4}) trackers.log({{"loss", 1}}, step);
  }
  trackers.log({{"loss", 0.5}}, 5);
  const std::string said = captured.text();
  CHECK_THAT(said, ContainsSubstring("values of step 3 are not logged") && ContainsSubstring("metrics.jsonl") &&
                       ContainsSubstring("tfevents") && !ContainsSubstring("step 4"));
  std::vector<std::int64_t> in_lines, in_events;
  std::istringstream lines(read_file(folder / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) in_lines.push_back(nlohmann::json::parse(line).at("step"));
  for (const auto& [step, scalars] : test::read_event_files(folder.path())) in_events.push_back(step);
  CHECK(in_lines == std::vector<std::int64_t>{2, 5});
  CHECK(in_events == in_lines);
}

TEST_CASE("an event file whose first values are lost is whole with the next", "[run][tracker][fault]") {
  const test::TemporaryFolder folder;
  const auto tracker = run::make_tracker("tensorboard", folder.path());
  {
    const test::FileSizeLimit full(20);  // less than the file's version
    CHECK_THROWS_AS(tracker->log({{"loss", 1}}, 1), IoError);
  }
  tracker->log({{"loss", 2}}, 2);
  CHECK(test::read_event_files(folder.path()) == test::EventScalars{{2, {{"loss", 2.0F}}}});
}

TEST_CASE("a folder without an event file is one cause in every second", "[run][tracker][fault]") {
  const test::TemporaryFolder folder;
  const fs::path missing = folder / "runs";
  run::Trackers trackers;
  trackers.add(run::make_tracker("tensorboard", missing));
  const test::CapturedStderr captured;
  trackers.log({{"loss", 3}}, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // a file made now would have another name
  trackers.log({{"loss", 2}}, 2);
  CHECK_THAT(captured.text(), ContainsSubstring("step 1 are not logged") && !ContainsSubstring("step 2"));
  fs::create_directory(missing);
  trackers.log({{"loss", 1}}, 3);
  CHECK(test::read_event_files(missing) == test::EventScalars{{3, {{"loss", 1.0F}}}});
}
