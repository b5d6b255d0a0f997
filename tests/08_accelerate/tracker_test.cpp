// The trackers' files, read by readers that share no code with their writers.
#include "08_accelerate/tracking/tracker.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using accelerate::Scalars;

namespace {

// CRC-32C as a division of polynomials, bit by bit: the textbook's form, most significant bit first.
std::uint32_t crc32c(const std::string& bytes) {
  const auto reflected = [](std::uint32_t value, int bits) {
    std::uint32_t result = 0;
    for (int bit = 0; bit < bits; ++bit) result |= (value >> bit & 1) << (bits - 1 - bit);
    return result;
  };
  std::uint32_t rest = 0xFFFFFFFF;
  for (const char c : bytes) {
    rest ^= reflected(static_cast<unsigned char>(c), 8) << 24;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 0x80000000) != 0 ? rest << 1 ^ 0x1EDC6F41 : rest << 1;
  }
  return reflected(rest, 32) ^ 0xFFFFFFFF;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8; }

template <typename T>
T take(std::string& bytes) {
  T value;
  if (bytes.size() < sizeof(T)) throw FormatError("the bytes end early");
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.erase(0, sizeof(T));
  return value;
}

std::string take_bytes(std::string& bytes, std::uint64_t count) {
  if (bytes.size() < count) throw FormatError("the bytes end early");
  const std::string taken = bytes.substr(0, count);
  bytes.erase(0, count);
  return taken;
}

std::uint64_t take_varint(std::string& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
}

// A protocol buffer without its schema: of each field, the bytes of its values.
std::multimap<std::uint64_t, std::string> fields_of(std::string message) {
  std::multimap<std::uint64_t, std::string> fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    std::string value;
    switch (key & 7) {
      case 0:
        value = std::to_string(take_varint(message));
        break;
      case 1:
        value = take_bytes(message, 8);
        break;
      case 2:
        value = take_bytes(message, take_varint(message));
        break;
      case 5:
        value = take_bytes(message, 4);
        break;
      default:
        throw FormatError("no wire type of proto3");
    }
    fields.emplace(key >> 3, value);
  }
  return fields;
}

template <typename T>
T as(const std::multimap<std::uint64_t, std::string>& fields, std::uint64_t number) {
  std::string bytes = fields.find(number)->second;
  return take<T>(bytes);
}

std::vector<std::string> records_of(std::string file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const std::string length = take_bytes(file, 8);
    CHECK(take<std::uint32_t>(file) == masked(crc32c(length)));
    std::string number = length;
    records.push_back(take_bytes(file, take<std::uint64_t>(number)));
    CHECK(take<std::uint32_t>(file) == masked(crc32c(records.back())));
  }
  return records;
}

// While it lives, this process's files grow to `bytes` and no further, as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) : old_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit lowered = old_;
    lowered.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &lowered);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  sighandler_t old_handler_;
};

fs::path only_file_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  REQUIRE(paths.size() == 1);
  return paths.front();
}

}  // namespace

TEST_CASE("the test's checksum is CRC-32C", "[accelerate][tracker]") {
  CHECK(crc32c("123456789") == 0xE3069283);              // the catalogue's check value
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);    // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43);  // RFC 3720, B.4
}

TEST_CASE("event files are records with checksums, and events as TensorBoard's schema has them",
          "[accelerate][tracker]") {
  const test::TemporaryFolder folder;
  const std::int64_t step = GENERATE(0, 1, 127, 128, 300, std::int64_t{1} << 40);
  {
    const auto tracker = accelerate::make_tracker("tensorboard", folder.path());
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
  CHECK(as<double>(version, 1) > 1.7e9);  // seconds since 1970
  std::vector<std::pair<std::string, float>> scalars;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto event = fields_of(records[i]);
    CHECK(event.find(2)->second == std::to_string(step + static_cast<std::int64_t>(i) - 1));
    const auto summary = fields_of(event.find(5)->second);
    for (const auto& [number, value] : summary) {
      REQUIRE(number == 1);
      const auto fields = fields_of(value);
      scalars.emplace_back(fields.find(1)->second, as<float>(fields, 2));
    }
  }
  CHECK(scalars == std::vector<std::pair<std::string, float>>{
                       {"learning_rate", 0.1F}, {"loss", 2.3125F}, {"train/loss \xC3\xA4", -1e-3F}});
}

TEST_CASE("JSON lines keep every bit, and a second tracker goes on behind the first", "[accelerate][tracker]") {
  const test::TemporaryFolder folder;
  accelerate::make_tracker("jsonl", folder.path())->log({{"loss", 0.1 + 0.2}, {"x", NAN}}, 3);
  accelerate::make_tracker("jsonl", folder.path())->log({{"loss", 1e300}}, 4);
  std::istringstream lines(read_file(folder / "metrics.jsonl"));
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  REQUIRE(objects.size() == 2);
  CHECK(objects[0] == nlohmann::json{{"step", 3}, {"loss", 0.1 + 0.2}, {"x", nullptr}});
  CHECK(objects[1] == nlohmann::json{{"step", 4}, {"loss", 1e300}});
}

TEST_CASE("comma-separated values have a line per number, and names may hold anything", "[accelerate][tracker]") {
  const test::TemporaryFolder folder;
  accelerate::make_tracker("csv", folder.path())->log({{"loss", 0.1}, {"a \"b\", c", -2}}, 3);
  accelerate::make_tracker("csv", folder.path())->log({{"new", 1e-300}}, 4);
  CHECK(read_file(folder / "metrics.csv") == "step,name,value\n3,\"a \"\"b\"\", c\",-2\n3,loss,0.1\n4,new,1e-300\n");
}

TEST_CASE("half a line that a killed process has left is removed, and only that", "[accelerate][tracker][fault]") {
  const auto [name, file, first] = GENERATE(table<std::string, std::string, std::string>({
      {"jsonl", "metrics.jsonl", "{\"step\":1,\"loss\":2.0}\n"},
      {"csv", "metrics.csv", "step,name,value\n1,loss,2\n"},
  }));
  const std::string next = name == "jsonl" ? "{\"step\":3,\"loss\":1.0}\n" : "3,loss,1\n";
  const std::string torn = GENERATE(std::string(R"({"step":2,"lo)"), std::string("2,loss,0.1"), std::string(5000, '\0'),
                                    std::string("\xC3"), std::string(4095, 'x'), std::string(4096, 'x'));
  const test::TemporaryFolder folder;
  write_file(folder / file, first + torn);
  std::string said;
  {
    const test::CapturedStderr captured;
    accelerate::make_tracker(name, folder.path())->log({{"loss", 1}}, 3);
    said = captured.text();
  }
  CHECK(read_file(folder / file) == first + next);
  CHECK_THAT(said, ContainsSubstring(concat(file, " ended in half a line of ", torn.size(), " bytes")));
  // Whole lines stay, also blank ones, and a file that has nothing else begins anew.
  write_file(folder / file, first + "\n");
  accelerate::make_tracker(name, folder.path())->log({{"loss", 1}}, 3);
  CHECK(read_file(folder / file) == first + "\n" + next);
  write_file(folder / file, "step,na");
  accelerate::make_tracker(name, folder.path())->log({{"loss", 1}}, 3);
  CHECK(read_file(folder / file) == (name == "csv" ? "step,name,value\n" : "") + next);
}

TEST_CASE("no scalar takes the place of the step or of another scalar, whatever it is called",
          "[accelerate][tracker]") {
  const Scalars values{{"loss", 1},     {"step", 2},     {"step (2)", 3},         {"bad \xFF", 4},
                       {"bad \xFE", 5}, {"cut \xC3", 6}, {"bad \xEF\xBF\xBD", 7}, {"", 8}};
  const test::TemporaryFolder folder;
  for (const char* const name : {"jsonl", "csv"}) accelerate::make_tracker(name, folder.path())->log(values, 30);
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
  const std::string table = read_file(folder / "metrics.csv");
  CHECK_THAT(table, ContainsSubstring("30,step,2\n") && ContainsSubstring("30,bad \xEF\xBF\xBD (2),5\n"));
  CHECK(table.find('\xFF') == std::string::npos);
}

TEST_CASE("tags of event files are UTF-8, or TensorBoard would drop the event", "[accelerate][tracker]") {
  const test::TemporaryFolder folder;
  accelerate::make_tracker("tensorboard", folder.path())->log({{"a \xFF", 1}, {"step", 2}}, 3);
  const auto event = fields_of(records_of(read_file(only_file_in(folder.path()))).at(1));
  std::vector<std::string> tags;
  for (const auto& [number, value] : fields_of(event.find(5)->second)) tags.push_back(fields_of(value).find(1)->second);
  CHECK(tags == std::vector<std::string>{"a \xEF\xBF\xBD", "step"});
}

TEST_CASE("not a number has no sign", "[accelerate][tracker]") {
  const test::TemporaryFolder folder;
  accelerate::make_tracker("csv", folder.path())->log({{"x", std::copysign(NAN, -1.0)}, {"y", -INFINITY}}, 1);
  CHECK(read_file(folder / "metrics.csv") == "step,name,value\n1,x,nan\n1,y,-inf\n");
}

TEST_CASE("a tracker that cannot write costs its values, not the training", "[accelerate][tracker][fault]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder / "logs" / "run" / "metrics.jsonl";
  std::string said, before;
  {
    const test::CapturedStderr captured;
    accelerate::Accelerator accelerator({.project_dir = folder.path(), .log_with = {"jsonl", "csv"}});
    accelerator.init_trackers("run", {{"note", "Gr\xFF"}});  // in whatever encoding
    accelerator.log({{std::string(8000, 'x'), 2}}, 1);       // both files are longer than what is captured
    before = read_file(file);
    {
      const FileSizeLimit full(before.size() + 4);
      for (const std::int64_t step : {2, 3}) CHECK_NOTHROW(accelerator.log({{"loss", 1}}, step));
    }
    accelerator.log({{"loss", 0.5}}, 4);
    said = captured.text();
  }
  CHECK(read_file(file) == before + "{\"step\":4,\"loss\":0.5}\n");
  CHECK_THAT(said, ContainsSubstring("values of step 2 are not logged") && ContainsSubstring("metrics.jsonl") &&
                       !ContainsSubstring("step 3"));
}

TEST_CASE("an unknown tracker and a folder that is not there are named", "[accelerate][tracker][fault]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(accelerate::make_tracker("wandb", folder.path()), ContainsSubstring("jsonl, csv and tensorboard"));
  CHECK_THROWS_AS(accelerate::make_tracker("csv", folder / "nothing"), IoError);
}

TEST_CASE("the accelerator's trackers write on the main process only, until end_training",
          "[accelerate][tracker][multirank]") {
  const test::TemporaryFolder folder;
  const auto outcomes = test::run_ranks(2, [&](comm::JobContext job) {
    accelerate::Accelerator accelerator({.project_dir = folder.path(), .log_with = {"jsonl", "csv"}}, std::move(job));
    accelerator.init_trackers("first try", {{"learning_rate", 0.5}});
    accelerator.log({{"rank", static_cast<double>(accelerator.process_index())}}, 1);
    accelerator.end_training();
    accelerator.log({{"late", 1}}, 2);
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
  const fs::path logs = folder / "logs" / "first try";
  CHECK(read_file(logs / "metrics.jsonl") == "{\"step\":1,\"rank\":0.0}\n");
  CHECK(nlohmann::json::parse(read_file(logs / "config.json")) == nlohmann::json{{"learning_rate", 0.5}});
  CHECK(fs::exists(logs / "metrics.csv"));
}
