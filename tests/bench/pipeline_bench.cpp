/// The bubble of schedules, measured: the ranks of a pipeline send real messages, and sleep instead of computing.
/// Started once per rank by parallel.py; rank 0 prints a line of JSON for each schedule and number of micro-batches.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "11_pipeline_parallel/stage_link.hpp"
#include "11_pipeline_parallel/stage_loop.hpp"
#include "autograd/node.hpp"
#include "autograd/primitives.hpp"
#include "comm/buffer.hpp"
#include "comm/rendezvous.hpp"

namespace {

using namespace lockstep;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kForward = 20ms, kBackward = 40ms;  // waking up takes up to half a millisecond
constexpr std::int64_t kElements = 4096;

// Multiplies by 1.
class SleepingStage : public pipeline::Stage {
 public:
  SleepingStage(pipeline::Group& group, pipeline::StageLinks& links) : group_(group), links_(links) {}

  void begin(std::span<const pipeline::Action> actions) {
    for (const pipeline::Action& action : actions) {
      if (action.pass == pipeline::Pass::kForward && !is_first()) links_.input->expect(message("F", action));
      if (action.pass == pipeline::Pass::kBackward && !is_last()) links_.output_gradient->expect(message("B", action));
    }
  }
  void finish() {
    links_.for_each([](pipeline::StageLink& link) { link.flush(); });
  }

  [[nodiscard]] bool is_first() const override { return group_.rank() == 0; }
  [[nodiscard]] bool is_last() const override { return group_.rank() == group_.world_size() - 1; }
  [[nodiscard]] Tensor receive_input(int /*micro_batch*/) override { return links_.input->receive(); }
  void send_output(int micro_batch, const Tensor& output) override {
    links_.output->send(output, "F" + std::to_string(micro_batch));
  }
  [[nodiscard]] Tensor receive_gradient(int /*micro_batch*/) override { return links_.output_gradient->receive(); }
  void send_gradient(int micro_batch, const Tensor& gradient) override {
    links_.input_gradient->send(gradient, "B" + std::to_string(micro_batch));
  }
  [[nodiscard]] pipeline::Variable forward(int /*micro_batch*/, const pipeline::Variable& input) override {
    std::this_thread::sleep_for(kForward);
    return autograd::mul(input.is_defined() ? input : samples_, 1);
  }
  void backward(int /*micro_batch*/, const pipeline::Variable& output, Tensor gradient) override {
    std::this_thread::sleep_for(kBackward);
    autograd::backward_from({{output, gradient.is_defined() ? gradient : Tensor::zeros({kElements})}});
  }

 private:
  static pipeline::ExpectedTensor message(const char* pass, const pipeline::Action& action) {
    return {.shape = {kElements}, .tag = pass + std::to_string(action.micro_batch)};
  }

  pipeline::Group& group_;
  pipeline::StageLinks& links_;
  pipeline::Variable samples_ = pipeline::Variable::parameter(Tensor::zeros({kElements}), "samples");
};

// From the beginning on all ranks to the end on the last of them.
double seconds_of(const std::vector<pipeline::Action>& actions, SleepingStage& stage, pipeline::Group& group) {
  stage.begin(actions);
  group.barrier().synchronize();
  const auto begin = Clock::now();
  pipeline::run_actions(actions, stage);
  double seconds = Seconds(Clock::now() - begin).count();
  stage.finish();
  group.all_reduce(comm::host_buffer(std::span(&seconds, 1)), comm::ReduceOp::kMax).synchronize();
  return seconds;
}

void measure(pipeline::ScheduleKind kind, int micro_batches, SleepingStage& stage, pipeline::Group& group) {
  const pipeline::Schedule schedule = make_schedule(kind, group.world_size(), micro_batches);
  const double seconds = seconds_of(schedule[static_cast<std::size_t>(group.rank())], stage, group);
  const double busy = micro_batches * Seconds(kForward + kBackward).count();
  if (group.rank() != 0) return;
  const nlohmann::ordered_json line{{"schedule", name_of(kind)},
                                    {"ranks", group.world_size()},
                                    {"micro_batches", micro_batches},
                                    {"idle_per_busy", (seconds - busy) / busy},
                                    {"expected", pipeline::simulate(schedule).idle_per_busy()}};
  std::cout << line.dump() << std::endl;
}

}  // namespace

int main() {
  const auto group = ring::make_shared_memory_process_group(comm::rendezvous("env://"));
  pipeline::StageLinks links = pipeline::make_links(*group);
  SleepingStage stage(*group, links);
  for (const int micro_batches : {2, 8}) {
    for (const auto& [name, kind] : pipeline::schedule_kinds()) measure(kind, micro_batches, stage, *group);
  }
  return 0;
}
