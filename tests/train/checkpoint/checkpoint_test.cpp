#include "checkpoint/checkpoint.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/process.hpp"
#include "checkpoint/manifest.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
namespace fs = std::filesystem;

namespace {

Tensor filled(const Shape& shape, float value) {
  const Tensor tensor = Tensor::empty(shape);
  for (float& element : tensor.span<float>()) element = value;
  return tensor;
}

// Tensors whose every element is `value`.
Contents make_contents(float value) {
  return {.model = {{"wte.weight", filled({5, 3}, value)}, {"h.0.ln_1.bias", filled({7}, value)}},
          .optimizer = {{"wte.weight.exp_avg", filled({5, 3}, -value)}}};
}

// Loads a checkpoint of make_contents(): its value, or a failure if elements differ.
float load_value(const fs::path& checkpoint) {
  const Contents contents = make_contents(0);
  const nlohmann::json state = load(checkpoint, contents);
  const float value = state.at("value").get<float>();
  for (const auto& [name, tensor] : contents.model)
    for (const float element : tensor.span<float>())
      if (element != value) throw Error(concat(name, " holds ", element));
  for (const float element : contents.optimizer[0].tensor.span<float>())
    if (element != -value) throw Error(concat("the optimizer holds ", element));
  return value;
}

void save_value(CheckpointFolder& folder, std::int64_t step, float value) {
  folder.save(step, make_contents(value), {{"value", value}});
}

std::vector<std::string> names_in(const fs::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Changes the last byte of a file.
void damage(const fs::path& path) {
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(path, bytes);
}

// Runs the victim to its end: its exit code.
int run_victim(const fs::path& root, int step, int fault, const std::string& mode) {
  return wait_for_process(start_process(
      {.command = {CHECKPOINT_VICTIM, root.string(), std::to_string(step), std::to_string(fault), mode}}));
}

}  // namespace

TEST_CASE("a checkpoint loads as saved: model, optimizer, state", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root / "checkpoints");
  CHECK_FALSE(folder.latest().has_value());
  save_value(folder, 500, 2.5F);
  REQUIRE(folder.latest() == root / "checkpoints/step_00000500");
  CHECK(load_value(*folder.latest()) == 2.5F);
  CHECK(load_state(*folder.latest()) == nlohmann::json{{"value", 2.5}});
  CHECK(names_in(*folder.latest()) ==
        std::vector<std::string>{"manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"});
}

TEST_CASE("the optimizer can be left alone, a wrong model cannot", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path());
  save_value(folder, 1, 1);
  Contents contents = make_contents(0);
  contents.optimizer.clear();
  CHECK_NOTHROW(load(*folder.latest(), contents));
  contents.model[1].tensor = Tensor::zeros({8});
  CHECK_THROWS_WITH(load(*folder.latest(), contents),
                    ContainsSubstring("tensor h.0.ln_1.bias is float32 [7], expected float32 [8]"));
}

TEST_CASE("nothing is loaded when the optimizer's tensors do not fit", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path());
  save_value(folder, 1, 1);
  Contents contents = make_contents(0);
  contents.optimizer[0].name = "another";
  CHECK_THROWS_WITH(load(*folder.latest(), contents), ContainsSubstring("1 tensors are missing: another"));
  CHECK(contents.model[0].tensor.span<float>()[0] == 0);
}

TEST_CASE("the last k checkpoints are kept, the newest is the latest", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path(), {.keep_last = 2});
  for (const int step : {9, 10, 11, 100}) save_value(folder, step, static_cast<float>(step));
  CHECK(names_in(root.path()) == std::vector<std::string>{"step_00000011", "step_00000100"});
  CHECK(load_value(*folder.latest()) == 100);
  CHECK_THROWS_AS(CheckpointFolder(root.path(), {.keep_last = 0}), ContractError);
  CHECK_THROWS_AS(save_value(folder, -1, 0), ContractError);
}

TEST_CASE("a step saved again counts as newer, whatever was there", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path(), {.keep_last = 1});
  for (const float value : {1.0F, 2.0F, 3.0F}) {
    save_value(folder, 7, value);
    CHECK(load_value(*folder.latest()) == value);
    CHECK(folder.list().size() == 1);
  }
}

TEST_CASE("a run resumed from an earlier step continues from its own checkpoints", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path(), {.keep_last = 3});
  for (const int step : {100, 200, 300}) save_value(folder, step, static_cast<float>(step));
  save_value(folder, 150, 150);
  CHECK(load_value(*folder.latest()) == 150);
  CHECK(names_in(root.path()) ==
        std::vector<std::string>{"aside_step_00000200", "aside_step_00000300", "step_00000100", "step_00000150"});
}

TEST_CASE("the first save after a resume sets aside what lies behind the resumed checkpoint, before it counts",
          "[checkpoint]") {
  const test::TemporaryFolder root;
  const auto resume = [&](int from, int keep_last) {
    return CheckpointFolder(root.path(), {.keep_last = keep_last, .resumed_from = root / concat("step_0000000", from)});
  };
  CheckpointFolder begun(root.path(), {.keep_last = 9});
  for (const int step : {4, 8, 8, 9}) save_value(begun, step, static_cast<float>(step));
  CheckpointFolder once = resume(4, 2);
  save_value(once, 8, 80);  // the step that the run had reached before
  CHECK(names_in(root.path()) == std::vector<std::string>{"aside_step_00000008", "aside_step_00000008.2",
                                                          "aside_step_00000009", "step_00000004", "step_00000008"});
  CHECK(load_value(*once.latest()) == 80);
  save_value(once, 9, 90);  // its own are not set aside
  CheckpointFolder again = resume(8, 1);
  save_value(again, 9, 91);
  CHECK(names_in(root.path()) == std::vector<std::string>{"aside_step_00000008", "aside_step_00000008.2",
                                                          "aside_step_00000009", "aside_step_00000009_2",
                                                          "step_00000009"});
  CHECK(load_value(root / "aside_step_00000009") == 9);
  CHECK(load_value(root / "aside_step_00000009_2") == 90);
  CHECK(load_value(*again.latest()) == 91);
}

TEST_CASE("a run that goes on from a checkpoint that was set aside knows which ones lie behind it", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder begun(root.path(), {.keep_last = 9});
  for (const int step : {4, 8}) save_value(begun, step, static_cast<float>(step));
  fs::rename(root / "step_00000004", root / "aside_step_00000004_2");
  CheckpointFolder resumed(root.path(), {.resumed_from = root / "aside_step_00000004_2"});
  save_value(resumed, 6, 6);
  CHECK(names_in(root.path()) ==
        std::vector<std::string>{"aside_step_00000004_2", "aside_step_00000008", "step_00000006"});
}

TEST_CASE("a run that was resumed and has saved nothing changes nothing behind its checkpoint", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder begun(root.path(), {.keep_last = 9});
  for (const int step : {4, 8}) save_value(begun, step, static_cast<float>(step));
  CheckpointFolder(root.path(), {.keep_last = 1, .resumed_from = root / "step_00000004"}).tidy();
  CHECK(names_in(root.path()).size() == 2);
  CheckpointFolder(root.path(), {.keep_last = 1, .resumed_from = root / "step_00000008"}).tidy();
  CHECK(names_in(root.path()) == std::vector<std::string>{"step_00000008"});
}

TEST_CASE("what cannot be read is not damaged: nothing older takes its place, and nothing is removed", "[checkpoint]") {
  const std::string file = GENERATE("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json");
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path());
  save_value(folder, 1, 1);
  save_value(folder, 2, 2);
  const fs::path unreadable = root / "step_00000002" / file;
  fs::rename(unreadable, root / "elsewhere");
  std::string reason;
  SECTION("the disk says EIO") {
    fs::create_symlink("/proc/self/mem", unreadable);  // opens, and no byte at offset 0 can be read
    reason = "Input/output error";
  }
  SECTION("it cannot be opened") {
    fs::create_symlink(unreadable.filename(), unreadable);
    reason = "Too many levels of symbolic links";
  }
  CHECK_THROWS_WITH(folder.latest(), ContainsSubstring("step_00000002 cannot be read") && ContainsSubstring(reason) &&
                                         ContainsSubstring("does not mean that it is damaged"));
  CheckpointFolder(root.path(), {.keep_last = 1}).tidy();
  CHECK(names_in(root.path()) == std::vector<std::string>{"elsewhere", "step_00000001", "step_00000002"});
  fs::rename(root / "elsewhere", unreadable);
  CHECK(load_value(*folder.latest()) == 2);
}

TEST_CASE("an old checkpoint or a leftover that cannot be removed does not end a save, and goes with the next",
          "[checkpoint]") {
  const test::TemporaryFolder root;
  bool is_in_the_way = false;
  CheckpointFolder folder(root.path(), {.keep_last = 1, .on_save_step = [&](std::string_view step) {
                                          if (step == "prune" && is_in_the_way)
                                            fs::create_directories(root / ".removed_step_00000001/something");
                                        }});
  save_value(folder, 1, 1);
  is_in_the_way = true;
  const test::CapturedStderr err;
  CHECK_NOTHROW(save_value(folder, 2, 2));
  CHECK_THAT(err.text(), ContainsSubstring("cannot remove " + (root / "step_00000001").string()) &&
                             ContainsSubstring("tried again at the next save"));
  CHECK(names_in(root.path()) == std::vector<std::string>{".removed_step_00000001", "step_00000001", "step_00000002"});
  is_in_the_way = false;
  save_value(folder, 3, 3);
  CHECK(names_in(root.path()) == std::vector<std::string>{"step_00000003"});
}

TEST_CASE("a damaged checkpoint is an error that names the file, and latest goes one back", "[checkpoint]") {
  const std::string file = GENERATE("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json");
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path());
  save_value(folder, 1, 1);
  save_value(folder, 2, 2);
  const fs::path newest = root / "step_00000002";
  SECTION("one bit") {
    if (file == "manifest.json")
      write_file(newest / file, "{\"format\": \"lockstep checkpoint 1\"}");
    else
      damage(newest / file);
    CHECK_THROWS_AS(verify(newest), FormatError);
  }
  SECTION("cut short") {
    fs::resize_file(newest / file, fs::file_size(newest / file) / 2);
    CHECK_THROWS_AS(verify(newest), FormatError);
  }
  SECTION("gone") {
    fs::remove(newest / file);
    CHECK_THROWS_AS(verify(newest), IoError);
  }
  CHECK_THROWS_WITH(load_value(newest), ContainsSubstring((newest / file).string()));
  CHECK(load_value(*folder.latest()) == 1);
}

TEST_CASE("a manifest cannot point outside its folder", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path());
  save_value(folder, 1, 1);
  const fs::path manifest = root / "step_00000001/manifest.json";
  nlohmann::json content = parse_json(read_file(manifest));
  content["files"]["../outside"] = {{"bytes", 0}, {"xxh3", "2d06800538d394c2"}};
  write_file(manifest, dump_json(content));
  CHECK_THROWS_WITH(verify(root / "step_00000001"), ContainsSubstring("the entry of ../outside is not a file name"));
}

TEST_CASE("foreign names beside the checkpoints are left alone", "[checkpoint]") {
  const test::TemporaryFolder root;
  for (const char* name : {"step_1", "step_0000000x", "notes", ".hidden"}) fs::create_directories(root / name);
  write_file(root / "step_00000009", "a file");
  CheckpointFolder folder(root.path(), {.keep_last = 1});
  CHECK(folder.list().empty());
  save_value(folder, 1, 1);
  save_value(folder, 2, 2);
  CHECK(names_in(root.path()).size() == 6);
  CHECK(load_value(*folder.latest()) == 2);
}

TEST_CASE("SIGKILL before any step of a save leaves a checkpoint that loads", "[checkpoint]") {
  const std::string mode = GENERATE("blocking", "background");
  const test::TemporaryFolder root;
  const Tensor values = Tensor::empty({1000}), moments = Tensor::empty({1000});
  const Contents destinations{.model = {{"values", values}}, .optimizer = {{"values.exp_avg", moments}}};
  REQUIRE(run_victim(root.path(), 1, -1, mode) == 0);
  int last_good = 1;
  int fault = 0;
  for (; fault < 50; ++fault) {
    const int step = last_good + 1;
    const int status = run_victim(root.path(), step, fault, mode);
    const CheckpointFolder folder(root.path());
    REQUIRE(folder.latest().has_value());
    const int found = load(*folder.latest(), destinations).at("step").get<int>();
    CHECK((found == last_good || found == step));  // the old one, or the new one whole
    CHECK(values.span<float>()[999] == static_cast<float>(found));
    CHECK(moments.span<float>()[999] == static_cast<float>(found));
    last_good = found;
    if (status == 0) break;
    REQUIRE(status > 128);
  }
  CHECK(fault == 12);                        // the steps of save(): each has been the place of a kill
  CHECK(names_in(root.path()).size() == 1);  // and the save that finished removed what the others left behind
}

TEST_CASE("tidying removes what a killed writer left, and never the newest checkpoint that verifies", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder generous(root.path(), {.keep_last = 3});
  for (const int step : {1, 2, 3}) save_value(generous, step, static_cast<float>(step));
  fs::create_directory(root / ".removed_step_00000000");
  fs::create_directory(root / ".incomplete_step_00000004");
  CheckpointFolder folder(root.path(), {.keep_last = 1});
  SECTION("all are sound: the newest stays") {
    folder.tidy();
    CHECK(names_in(root.path()) == std::vector<std::string>{"step_00000003"});
  }
  SECTION("the newest is damaged: the one before it stays") {
    write_file(root / "step_00000003/model.safetensors", "half of it");
    folder.tidy();
    CHECK(names_in(root.path()) == std::vector<std::string>{"aside_step_00000003", "step_00000002"});
  }
  SECTION("there is nothing yet: nothing is made") {
    CheckpointFolder(root / "none").tidy();
    CHECK_FALSE(fs::exists(root / "none"));
  }
}

TEST_CASE("an error in the middle of a save keeps the earlier checkpoint and the next save works", "[checkpoint]") {
  const test::TemporaryFolder root;
  std::string failing_step;
  CheckpointFolder folder(root.path(), {.keep_last = 1, .on_save_step = [&](std::string_view step) {
                                          if (step == failing_step) throw IoError("the disk is full");
                                        }});
  save_value(folder, 1, 1);
  for (const char* step : {"model", "manifest", "verify", "rename"}) {
    failing_step = step;
    CHECK_THROWS_AS(save_value(folder, 2, 2), IoError);
    CHECK(load_value(*folder.latest()) == 1);
    CHECK(names_in(root.path()) == std::vector<std::string>{"step_00000001"});  // nothing fills the full disk
  }
  failing_step.clear();
  save_value(folder, 3, 3);
  CHECK(names_in(root.path()) == std::vector<std::string>{"step_00000003"});
}

TEST_CASE("what changes on its way to the disk is noticed, though it changes before the manifest is written",
          "[checkpoint]") {
  const std::string file = GENERATE("model.safetensors", "optimizer.safetensors", "state.json");
  const test::TemporaryFolder root;
  bool is_damaging = false;
  CheckpointFolder folder(root.path(), {.on_save_step = [&](std::string_view step) {
                            if (is_damaging && step == "manifest") damage(root / ".incomplete_step_00000002" / file);
                          }});
  save_value(folder, 1, 1);
  is_damaging = true;
  CHECK_THROWS_WITH(save_value(folder, 2, 2), ContainsSubstring(file + " is damaged"));
  CHECK(load_value(*folder.latest()) == 1);
}

TEST_CASE("a checkpoint whose state is not JSON changes no tensor", "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder folder(root.path());
  save_value(folder, 1, 1);
  const fs::path checkpoint = *folder.latest();
  write_file(checkpoint / kStateFile, "{");
  Manifest manifest = parse_manifest(read_file(checkpoint / kManifestFile), checkpoint / kManifestFile);
  for (FileEntry& file : manifest.files) file = describe_file(checkpoint / file.name);
  write_file(checkpoint / kManifestFile, to_text(manifest));
  REQUIRE_NOTHROW(verify(checkpoint));
  const Contents contents = make_contents(2);
  CHECK_THROWS_AS(load(checkpoint, contents), FormatError);
  for (const auto& [name, tensor] : contents.model)
    for (const float element : tensor.span<float>()) CHECK(element == 2);
}

TEST_CASE("what cannot be written is an IoError, not a crash", "[checkpoint]") {
  const test::TemporaryFolder root;
  write_file(root / "file", "in the way");
  CheckpointFolder folder(root / "file");
  CHECK_THROWS_AS(save_value(folder, 1, 1), IoError);
}
