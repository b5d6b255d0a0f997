// Accelerator::profile(): a trace for each rank, which a reader of the event format understands.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "digits.hpp"
#include "support/temporary_folder.hpp"
#include "trace/trace_file.hpp"

using namespace lockstep;
using namespace lockstep::test;
using accelerate::Accelerator;

namespace {

constexpr std::int64_t kUpdates = 3;

// Trains 2 * kUpdates micro-batches, two a step.
void train(Accelerator& accelerator, const accelerate::Profile* profile) {
  Training training(2 * kUpdates * 6, {.batch_size = 6});
  auto [net, adam, batches, rate] =
      accelerator.prepare(training.model, training.optimizer, training.loader, training.schedule);
  for (const data::Batch& batch : batches) {
    const auto scope = accelerator.accumulate(net);
    adam.zero_grad();
    const auto loss = [&] {
      const auto span = accelerate::Profile::span(profile, "forward", trace::Category::kForward);
      return training.loss_of(batch);
    }();
    accelerator.backward(loss);
    if (accelerator.sync_gradients()) accelerator.clip_grad_norm(net->parameters(), 1.0);
    adam.step(rate.get_last_lr());
    rate.step();
  }
}

// The complete events ("X") of a lane of one rank's file, in the order of their beginnings.
std::vector<nlohmann::json> events_of(const nlohmann::json& file, const std::string& lane) {
  int thread = -1;
  std::vector<nlohmann::json> events;
  for (const nlohmann::json& event : file.at("traceEvents")) {
    if (event.at("ph") == "M" && event.at("name") == "thread_name" && event.at("args").at("name") == lane)
      thread = event.at("tid").get<int>();
  }
  for (const nlohmann::json& event : file.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("tid") == thread) events.push_back(event);
  std::ranges::sort(events, {}, [](const nlohmann::json& event) { return event.at("ts").get<double>(); });
  return events;
}

std::int64_t count_of(const std::vector<nlohmann::json>& events, const std::string& name) {
  return std::ranges::count_if(events, [&](const nlohmann::json& event) { return event.at("name") == name; });
}

bool is_within(const nlohmann::json& inner, const nlohmann::json& outer) {
  const auto nanoseconds = [](const nlohmann::json& event, const char* which) {
    return event.at("args").at(which).get<std::int64_t>();
  };
  return nanoseconds(inner, "begin_ns") >= nanoseconds(outer, "begin_ns") &&
         nanoseconds(inner, "end_ns") <= nanoseconds(outer, "end_ns");
}

}  // namespace

TEST_CASE("a profile writes a trace for each rank, with its steps, its calls and its collectives",
          "[accelerate][profile][multirank]") {
  const int world_size = GENERATE(1, 2);
  const TemporaryFolder folder;
  run_all(world_size, [&](comm::JobContext job) {
    Accelerator accelerator({.gradient_accumulation_steps = 2, .split_batches = true, .project_dir = folder.path()},
                            std::move(job));
    const auto profile = accelerator.profile();
    train(accelerator, &profile);
  });
  for (int rank = 0; rank < world_size; ++rank) {
    const nlohmann::json file =
        nlohmann::json::parse(read_file(folder.path() / "profile" / concat("trace_rank", rank, ".json")));
    const auto steps = events_of(file, "steps"), compute = events_of(file, "compute");
    REQUIRE(std::ssize(steps) == kUpdates);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      CHECK(steps[i].at("name") == concat("step ", i + 1));
      CHECK(steps[i].at("pid") == rank);
      const auto own = [&](const char* name) {
        return std::ranges::count_if(compute, [&](const nlohmann::json& event) {
          return event.at("name") == name && event.at("args").at("step") == i + 1 && is_within(event, steps[i]);
        });
      };
      CHECK(own("forward") == 2);
      CHECK(own("backward") == 2);
      CHECK(own("clip_grad_norm") == 1);
      CHECK(own("optimizer.step") == 1);
    }
    CHECK(count_of(compute, "next batch") == 2 * kUpdates + 1);  // the last one finds the end of the epoch
    const auto communication = events_of(file, "communication");
    const auto all_reduces = std::ranges::count_if(communication, [](const nlohmann::json& event) {
      return event.at("name").get<std::string>().starts_with("all_reduce");
    });
    CHECK(all_reduces >= kUpdates);
  }
  CHECK_FALSE(std::filesystem::exists(folder.path() / "profile" / concat("trace_rank", world_size, ".json")));
  CHECK(std::ssize(trace::read_trace_folder(folder.path() / "profile")) == world_size);
}

TEST_CASE("a profile covers what runs while it lives, and goes where it is told", "[accelerate][profile]") {
  const TemporaryFolder folder;
  Accelerator accelerator({.gradient_accumulation_steps = 2});
  train(accelerator, nullptr);
  accelerator.free_memory();
  {
    const auto profile = accelerator.profile({.output_trace_dir = folder / "traces"});
    CHECK(profile.trace_file() == folder / "traces" / "trace_rank0.json");
    CHECK_THROWS_WITH(accelerator.profile(), ContainsSubstring("is running already"));
    const auto span = profile.record_function("nothing");
  }
  const auto recorded = trace::read_trace(folder / "traces" / "trace_rank0.json");
  REQUIRE(recorded.size() == 1);
  REQUIRE(recorded[0].spans.size() == 1);
  CHECK(recorded[0].spans[0].name == "nothing");
  train(accelerator, nullptr);  // nobody records any more
}

TEST_CASE("who recorded the collectives before a profile records them after it", "[accelerate][profile]") {
  const TemporaryFolder folder;
  Accelerator accelerator({.project_dir = folder.path()});
  const auto outer = std::make_shared<trace::Recorder>(0);
  CHECK(accelerator.process_group().record_to(outer) == nullptr);
  {
    const auto profile = accelerator.profile();
    accelerator.wait_for_everyone();
  }
  CHECK(outer->snapshot().spans.empty());
  accelerator.wait_for_everyone();
  CHECK(outer->snapshot().spans.size() == 1);
  CHECK(accelerator.process_group().record_to(nullptr) == outer);
}
