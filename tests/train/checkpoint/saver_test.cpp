#include "checkpoint/saver.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kLimit{20};  // for a broken Saver: no test of a sound one gets near it

Contents contents_of(float value) {
  const Tensor model = Tensor::empty({1000}), optimizer = Tensor::empty({10});
  for (float& element : model.span<float>()) element = value;
  for (float& element : optimizer.span<float>()) element = -value;
  return {.model = {{"w", model}}, .optimizer = {{"w.exp_avg", optimizer}}};
}

void set(const Contents& contents, float value) {
  contents.model[0].tensor.copy_from(contents_of(value).model[0].tensor);
  contents.optimizer[0].tensor.copy_from(contents_of(value).optimizer[0].tensor);
}

// The one value that the newest checkpoint holds in model, optimizer and state; -1 if they differ.
float newest_value(const fs::path& root) {
  const Contents contents = contents_of(0);
  const float value = load(CheckpointFolder(root).latest().value(), contents).at("value").get<float>();
  for (const float element : contents.model[0].tensor.span<float>())
    if (element != value) return -1;
  for (const float element : contents.optimizer[0].tensor.span<float>())
    if (element != -value) return -1;
  return value;
}

nlohmann::json state_of(float value) { return {{"value", value}}; }

// Changes the tensors in another thread, as the next step would, and knows when it has come to that.
class Changer {
 public:
  Changer(const Contents& contents, float value)
      : first_(*contents.model[0].tensor.storage()),
        accesses_(first_.write_accesses()),
        thread_([contents, value] { set(contents, value); }) {}

  // Returns once the thread has asked for the first tensor, and has had the time to write to it if nothing stops it.
  void wait_until_it_asks() const {
    const auto begin = std::chrono::steady_clock::now();
    while (first_.write_accesses() == accesses_ && std::chrono::steady_clock::now() - begin < kLimit)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

 private:
  const Storage& first_;
  std::uint64_t accesses_;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("a save in the background returns before it is written, and writes what was there when it was called",
          "[checkpoint]") {
  const std::string held = GENERATE("clean", "model", "optimizer");  // where the disk is when somebody would change it
  const test::TemporaryFolder root;
  std::promise<void> gate;
  auto opened = gate.get_future();
  std::atomic<bool> was_opened = false;
  Saver saver(root / "c",
              {.on_save_step =
                   [&](std::string_view step) {
                     if (step == held) was_opened = opened.wait_for(kLimit) == std::future_status::ready;
                   }},
              SaveMode::kBackground);
  const Contents contents = contents_of(1);
  saver.save(1, contents, state_of(1));
  CHECK(CheckpointFolder(root / "c").list().empty());
  {
    const Changer changer(contents, 2);
    changer.wait_until_it_asks();
    gate.set_value();
  }
  saver.finish();
  CHECK(was_opened);
  CHECK(newest_value(root / "c") == 1);
  CHECK(contents.model[0].tensor.span<float>()[7] == 2);
}

TEST_CASE("tensors may change while the disk is waited for: nobody waits for more than for the system to take them",
          "[checkpoint]") {
  const test::TemporaryFolder root;
  std::promise<void> gate;
  auto opened = gate.get_future();
  std::atomic<bool> was_opened = false;
  Saver saver(root.path(),
              {.on_save_step =
                   [&](std::string_view step) {
                     if (step == "flush") was_opened = opened.wait_for(kLimit) == std::future_status::ready;
                   }},
              SaveMode::kBackground);
  const Contents contents = contents_of(1);
  saver.save(1, contents, state_of(1));
  set(contents, 2);  // in this thread, which opens the gate only afterwards
  gate.set_value();
  saver.finish();
  CHECK(was_opened);
  CHECK(newest_value(root.path()) == 1);
}

TEST_CASE("a save of several views of one storage holds it until the last is written", "[checkpoint]") {
  const test::TemporaryFolder root;
  const Tensor whole = Tensor::zeros({4});
  Saver saver(root.path(), {}, SaveMode::kBackground);
  saver.save(1, {.model = {{"a", whole.rows(0, 1)}, {"b", whole.rows(1, 4)}}, .optimizer = {}}, state_of(1));
  for (float& element : whole.span<float>()) element = 1;
  saver.finish();
  const Tensor a = Tensor::empty({1}), b = Tensor::empty({3});
  (void)load(CheckpointFolder(root.path()).latest().value(), {.model = {{"a", a}, {"b", b}}, .optimizer = {}});
  CHECK(a.span<float>()[0] + b.span<float>()[0] + b.span<float>()[2] == 0);
}

TEST_CASE("a save that fails lets go of the tensors that it has not written", "[checkpoint]") {
  const test::TemporaryFolder root;
  const std::string at = GENERATE("clean", "optimizer");
  Saver saver(root.path(),
              {.on_save_step =
                   [&](std::string_view step) {
                     if (step == at) throw IoError("the disk is full");
                   }},
              SaveMode::kBackground);
  const Contents contents = contents_of(1);
  saver.save(1, contents, state_of(1));
  set(contents, 2);  // else it would wait for 15 minutes
  CHECK_THROWS_AS(saver.finish(), IoError);
}

// A disk that does not answer from the step "optimizer" of one save on, until it is told to or kLimit has passed.
class HangingDisk {
 public:
  /// The first save hangs, or with `is_hanging` false none until hang().
  explicit HangingDisk(bool is_hanging = true) : is_hanging_(is_hanging) {}
  [[nodiscard]] FolderOptions options(FolderOptions others = {}) {
    others.on_save_step = [this](std::string_view step) {
      if (step != "optimizer" || !is_hanging_.exchange(false)) return;
      reached_.set_value();
      answered_.wait_for(kLimit);
    };
    return others;
  }
  void hang() { is_hanging_ = true; }
  void wait_until_reached() { reached_.get_future().wait_for(kLimit); }
  void answer() { gate_.set_value(); }

 private:
  std::atomic<bool> is_hanging_;
  std::promise<void> reached_, gate_;
  std::shared_future<void> answered_ = gate_.get_future().share();
};

TEST_CASE("what waits for a disk that does not answer goes on in the end, and the save has failed", "[checkpoint]") {
  const test::TemporaryFolder root;
  HangingDisk disk;
  Saver saver(root.path(), disk.options(), SaveMode::kBackground, std::chrono::seconds(2));
  const Contents contents = contents_of(1);
  saver.save(1, contents, state_of(1));
  disk.wait_until_reached();
  set(contents, 2);  // waits for the optimizer's tensor until the time is up
  CHECK(contents.optimizer[0].tensor.span<float>()[0] == -2);
  disk.answer();
  CHECK_THROWS_WITH(saver.finish(), ContainsSubstring("the checkpoint of step 1") &&
                                        ContainsSubstring("w.exp_avg has been changed before it was written"));
  CHECK(fs::is_empty(root.path()));
}

TEST_CASE("a thread that nobody waits for any more keeps alive what it reads", "[checkpoint]") {
  const test::TemporaryFolder root;
  HangingDisk disk;
  std::weak_ptr<Storage> read;
  {
    const Contents contents = contents_of(1);
    read = contents.optimizer[0].tensor.storage();
    Saver saver(root.path(), disk.options(), SaveMode::kBackground, std::chrono::milliseconds(20));
    saver.save(1, contents, state_of(1));
    disk.wait_until_reached();
    CHECK_THROWS_AS(saver.finish(), TimeoutError);
  }
  CHECK_FALSE(read.expired());
  disk.answer();
  const auto begin = std::chrono::steady_clock::now();
  while (!read.expired() && std::chrono::steady_clock::now() - begin < kLimit) std::this_thread::yield();
  CHECK(read.expired());
}

TEST_CASE("saves in the background do not run beside each other, and none is left out", "[checkpoint]") {
  const test::TemporaryFolder root;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  Saver saver(root.path(),
              {.keep_last = 10,
               .on_save_step =
                   [&](std::string_view step) {
                     if (step == "clean") most = std::max(most.load(), ++running);
                     if (step == "prune") --running;
                   }},
              SaveMode::kBackground);
  const Contents contents = contents_of(0);
  for (int step = 1; step <= 8; ++step) {
    set(contents, static_cast<float>(step));
    saver.save(step, contents, state_of(static_cast<float>(step)));
  }
  saver.finish();
  CHECK(most == 1);
  CHECK(CheckpointFolder(root.path()).list().size() == 8);
  CHECK(newest_value(root.path()) == 8);
}

TEST_CASE("an error in the background comes out of the next save with its step, and the one after works",
          "[checkpoint]") {
  const test::TemporaryFolder root;
  std::atomic<bool> is_full = false;
  Saver saver(root.path(),
              {.on_save_step =
                   [&](std::string_view step) {
                     if (is_full && step == "optimizer") throw IoError("the disk is full");
                   }},
              SaveMode::kBackground);
  saver.save(1, contents_of(1), state_of(1));
  saver.finish();
  is_full = true;
  saver.save(2, contents_of(2), state_of(2));
  CHECK_THROWS_WITH(saver.save(3, contents_of(3), state_of(3)),
                    "the checkpoint of step 2, saved in the background, failed: the disk is full");
  CHECK(newest_value(root.path()) == 1);
  is_full = false;
  saver.save(4, contents_of(4), state_of(4));
  saver.finish();
  CHECK_NOTHROW(saver.finish());
  CHECK(newest_value(root.path()) == 4);
}

TEST_CASE("an error in the last save comes out of finish, or is logged where nobody asks", "[checkpoint]") {
  const test::TemporaryFolder root;
  const FolderOptions failing{.on_save_step = [](std::string_view) { throw IoError("the disk is gone"); }};
  Saver saver(root.path(), failing, SaveMode::kBackground);
  saver.save(7, contents_of(1), state_of(1));
  CHECK_THROWS_AS(saver.finish(), IoError);
  const test::CapturedStderr log;
  {
    Saver forgotten(root.path(), failing, SaveMode::kBackground);
    forgotten.save(8, contents_of(1), state_of(1));
  }
  CHECK_THAT(log.text(), ContainsSubstring("the checkpoint of step 8") && ContainsSubstring("the disk is gone"));
}

TEST_CASE("a disk that does not answer is an error after a while, and the thread that waits for it does no harm",
          "[checkpoint]") {
  const test::TemporaryFolder root;
  HangingDisk disk;
  Saver saver(root.path(), disk.options(), SaveMode::kBackground, std::chrono::milliseconds(20));
  saver.save(1, contents_of(1), state_of(1));
  disk.wait_until_reached();
  CHECK_THROWS_WITH(saver.finish(),
                    ContainsSubstring("the checkpoint of step 1") && ContainsSubstring("is not on disk"));
  disk.answer();
  const auto begin = std::chrono::steady_clock::now();
  const fs::path left = root / ".incomplete_step_00000001";
  while (fs::exists(left) && std::chrono::steady_clock::now() - begin < kLimit) std::this_thread::yield();
  CHECK(fs::is_empty(root.path()));  // the thread has noticed that nobody waits, and has removed what it wrote
  Saver next(root.path(), {}, SaveMode::kBackground);
  next.save(2, contents_of(2), state_of(2));
  next.finish();
  CHECK(newest_value(root.path()) == 2);
}

TEST_CASE("a thread that nobody waits for any more leaves the folder of a later save alone", "[checkpoint]") {
  const test::TemporaryFolder root;
  HangingDisk disk;
  std::weak_ptr<Storage> read;
  {
    const Contents contents = contents_of(1);
    read = contents.optimizer[0].tensor.storage();
    Saver saver(root.path(), disk.options(), SaveMode::kBackground, std::chrono::milliseconds(20));
    saver.save(1, contents, state_of(1));
    disk.wait_until_reached();
    CHECK_THROWS_AS(saver.finish(), TimeoutError);
  }
  const fs::path later = root / ".incomplete_step_00000001";
  CHECK(fs::remove_all(later) > 0);  // as the next save does, which then writes the same step
  fs::create_directory(later);
  disk.answer();
  const auto begin = std::chrono::steady_clock::now();
  while (!read.expired() && std::chrono::steady_clock::now() - begin < kLimit) std::this_thread::yield();
  REQUIRE(read.expired());  // the thread has ended its save
  CHECK(fs::exists(later));
  CHECK(fs::is_empty(later));
}

TEST_CASE("after a disk that did not answer, what a resumed run has saved before is not taken for what it gave up",
          "[checkpoint]") {
  const test::TemporaryFolder root;
  CheckpointFolder before(root.path());
  const fs::path resumed_from = before.save(1, contents_of(1), state_of(1));
  (void)before.save(5, contents_of(5), state_of(5));  // given up
  HangingDisk disk(false);
  Saver saver(root.path(), disk.options({.keep_last = 10, .resumed_from = resumed_from}), SaveMode::kBackground,
              std::chrono::seconds(2));
  saver.save(2, contents_of(2), state_of(2));
  saver.finish();
  disk.hang();
  saver.save(3, contents_of(3), state_of(3));
  CHECK_THROWS_AS(saver.finish(), TimeoutError);
  disk.answer();
  const auto begin = std::chrono::steady_clock::now();
  const fs::path left = root / ".incomplete_step_00000003";
  while (fs::exists(left) && std::chrono::steady_clock::now() - begin < kLimit) std::this_thread::yield();
  saver.save(4, contents_of(4), state_of(4));
  saver.finish();
  std::vector<std::string> names;
  for (const fs::path& path : CheckpointFolder(root.path()).list()) names.push_back(path.filename().string());
  CHECK(names == std::vector<std::string>{"step_00000001", "step_00000002", "step_00000004"});
}

TEST_CASE("a blocking save is on disk when it returns, and throws its own error", "[checkpoint]") {
  const test::TemporaryFolder root;
  bool is_full = false;
  Saver saver(root.path(),
              {.on_save_step =
                   [&](std::string_view step) {
                     if (is_full && step == "sync") throw IoError("the disk is full");
                   }},
              SaveMode::kBlocking);
  saver.save(1, contents_of(1), state_of(1));
  CHECK(newest_value(root.path()) == 1);
  is_full = true;
  CHECK_THROWS_WITH(saver.save(2, contents_of(2), state_of(2)), "the disk is full");
  CHECK_NOTHROW(saver.finish());
}

TEST_CASE("a save of other tensors than before saves those", "[checkpoint]") {
  const test::TemporaryFolder root;
  Saver saver(root.path(), {}, SaveMode::kBackground);
  saver.save(1, {.model = {{"a", Tensor::zeros({3})}}, .optimizer = {}}, state_of(1));
  saver.save(2, contents_of(5), state_of(5));
  saver.finish();
  CHECK(newest_value(root.path()) == 5);
}

TEST_CASE("room that was made before is what a save uses, and a save of other tensors does without", "[checkpoint]") {
  const SaveMode mode = GENERATE(SaveMode::kBackground, SaveMode::kBlocking);
  const test::TemporaryFolder root;
  Saver saver(root.path(), {}, mode);
  saver.prepare(contents_of(1));
  saver.save(1, contents_of(2), state_of(2));
  saver.finish();
  CHECK(newest_value(root.path()) == 2);
  saver.prepare({.model = {{"a", Tensor::zeros({3})}}, .optimizer = {}});
  saver.save(2, contents_of(3), state_of(3));
  saver.finish();
  CHECK(newest_value(root.path()) == 3);
  CHECK(CheckpointFolder(root.path()).list().size() == 2);  // making room saves nothing
}
