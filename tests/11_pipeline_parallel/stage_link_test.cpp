// Links, and the loop on them, with threads as ranks.
#include "11_pipeline_parallel/stage_link.hpp"

#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "11_pipeline_parallel/stage_loop.hpp"
#include "autograd/node.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using pipeline::StageLinks;

namespace {

Tensor filled(std::int64_t count, float value) {
  Tensor tensor = Tensor::empty({count});
  for (float& element : tensor.span<float>()) element = value;
  return tensor;
}

std::unique_ptr<comm::ProcessGroup> make_group(comm::JobContext job, bool over_tcp) {
  if (over_tcp) return ring::make_ring_process_group(std::move(job));
  return ring::make_shared_memory_process_group(std::move(job));
}

}  // namespace

TEST_CASE("a rank sends on before the other takes anything, and messages arrive in order",
          "[pipeline_parallel][multirank]") {
  constexpr int kMessages = 6;
  constexpr std::int64_t kCount = 300'000;  // more than the system keeps for a receiver
  const bool over_tcp = GENERATE(false, true);
  const auto arrived = test::run_ranks_for<std::vector<float>>(2, [&](comm::JobContext job) {
    const auto group = make_group(std::move(job), over_tcp);
    StageLinks links = pipeline::make_links(*group);
    std::vector<float> first_elements;
    if (group->rank() == 0) {
      for (int i = 0; i < kMessages; ++i)
        links.output->send(filled(kCount, static_cast<float>(i)), "F" + std::to_string(i));
      group->barrier().synchronize();
      links.output->flush();
    } else {
      group->barrier().synchronize();  // rank 0 has sent all
      for (int i = 0; i < kMessages; ++i) links.input->expect({.shape = {kCount}, .tag = "F" + std::to_string(i)});
      for (int i = 0; i < kMessages; ++i) first_elements.push_back(links.input->receive().span<float>().back());
    }
    return first_elements;
  });
  CHECK(arrived[1] == std::vector<float>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a rank that expects another micro-batch is told so", "[pipeline_parallel][multirank]") {
  const auto outcomes = test::run_ranks(2, [&](comm::JobContext job) {
    const auto group = make_group(std::move(job), false);
    StageLinks links = pipeline::make_links(*group);
    if (group->rank() == 0) {
      links.output->send(filled(4, 1), "F1");
      links.output->flush();
    } else {
      links.input->expect({.shape = {4}, .tag = "F0"});
      (void)links.input->receive();
    }
  });
  CHECK(outcomes[1].is<MismatchError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("F0"));
}

TEST_CASE("a rank has the links of its stage, and waits for nothing that it does not expect",
          "[pipeline_parallel][multirank]") {
  const auto links = test::run_ranks_for<std::string>(3, [&](comm::JobContext job) {
    const auto group = make_group(std::move(job), false);
    const StageLinks all = pipeline::make_links(*group);
    std::string which;
    if (all.input) which += "input ";
    if (all.output) which += "output ";
    if (all.output_gradient) which += "output_gradient ";
    if (all.input_gradient) which += "input_gradient ";
    if (all.table) which += "table ";
    all.for_each([&](pipeline::StageLink& link) {
      try {
        (void)link.receive();
      } catch (const ContractError&) {
        which += "!";
      }
    });
    return which;
  });
  CHECK(links[0] == "output output_gradient table !!!");
  CHECK(links[1] == "input output output_gradient input_gradient !!!!");
  CHECK(links[2] == "input input_gradient table !!!");
}

namespace {

// A stage alone that writes down what the loop asks of it: its output is the input, or 3, times its parameter 2.
class RecordedStage : public pipeline::Stage {
 public:
  RecordedStage(bool is_first, bool is_last) : is_first_(is_first), is_last_(is_last) {}

  std::vector<std::string> calls;

  [[nodiscard]] bool is_first() const override { return is_first_; }
  [[nodiscard]] bool is_last() const override { return is_last_; }
  [[nodiscard]] Tensor receive_input(int k) override { return note("receive input", k), filled(1, 5); }
  void send_output(int k, const Tensor& output) override { note("send output", k, output); }
  [[nodiscard]] Tensor receive_gradient(int k) override { return note("receive gradient", k), filled(1, 7); }
  void send_gradient(int k, const Tensor& gradient) override { note("send gradient", k, gradient); }
  [[nodiscard]] pipeline::Variable forward(int k, const pipeline::Variable& input) override {
    note("forward", k);
    const pipeline::Variable from = input.is_defined() ? input : pipeline::Variable(filled(1, 3));
    return autograd::mul(from, parameter_);
  }
  void backward(int k, const pipeline::Variable& output, Tensor gradient) override {
    note(has_elements(output) ? "backward with the output's elements" : "backward", k);
    autograd::backward_from({{output, gradient.is_defined() ? gradient : filled(1, 1)}});
  }

 private:
  static bool has_elements(const pipeline::Variable& output) {
    try {
      return output.value().is_defined();
    } catch (const ContractError&) {
      return false;
    }
  }
  void note(const std::string& call, int k, const Tensor& sent = {}) {
    calls.push_back(call + " " + std::to_string(k));
    if (sent.is_defined()) calls.back() += ": " + std::to_string(static_cast<int>(sent.item()));
  }

  bool is_first_, is_last_;
  pipeline::Variable parameter_ = pipeline::Variable::parameter(filled(1, 2), "two");
};

std::vector<std::string> calls_of(RecordedStage stage, const std::vector<pipeline::Action>& actions) {
  pipeline::run_actions(actions, stage);
  return stage.calls;
}

}  // namespace

TEST_CASE("the loop does each action with its messages, in the list's order", "[pipeline_parallel]") {
  using enum pipeline::Pass;
  const std::vector<pipeline::Action> actions{{kForward, 0, 0}, {kForward, 0, 1}, {kBackward, 0, 1}, {kBackward, 0, 0}};
  CHECK(calls_of({true, false}, actions) == std::vector<std::string>{"forward 0", "send output 0: 6", "forward 1",
                                                                     "send output 1: 6", "receive gradient 1",
                                                                     "backward 1", "receive gradient 0", "backward 0"});
  CHECK(calls_of({false, false}, {actions[0], actions[3]}) ==
        std::vector<std::string>{"receive input 0", "forward 0", "send output 0: 10", "receive gradient 0",
                                 "backward 0", "send gradient 0: 14"});
  CHECK(calls_of({false, true}, {actions[0], actions[3]}) ==
        std::vector<std::string>{"receive input 0", "forward 0", "backward with the output's elements 0",
                                 "send gradient 0: 2"});
  CHECK(calls_of({true, true}, {actions[0], actions[3]}) ==
        std::vector<std::string>{"forward 0", "backward with the output's elements 0"});
}

TEST_CASE("a backward pass without its forward pass is an error", "[pipeline_parallel]") {
  using enum pipeline::Pass;
  CHECK_THROWS_WITH(calls_of({true, true}, {{kForward, 0, 1}, {kBackward, 0, 0}}),
                    "pipeline: B0 of stage 0 comes before its forward pass");
}
