#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include "11_pipeline_parallel/3_stage_loop/stage_loop.hpp"
#include "base/error.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"keeps_outputs", "the elements of outputs are kept until the backward pass",
     "They have been sent, and backward does not read them: without_value()."},
    {"keeps_everything", "what was kept of a micro-batch is still there after its backward pass",
     "Take it out of the map: extract()."},
    {"keeps_inputs", "outputs are let go after their backward pass, and the inputs stay",
     "Where inputs and outputs are kept apart, a micro-batch has to leave both places."},
    {"newest_first", "the output that came last goes back first",
     "With 1F1B it is the oldest one; in general it is the micro-batch's own."},
    {"oldest_first", "the output that came first goes back first, whatever the action says",
     "Keep outputs by micro-batch."},
    {"sends_output_gradient", "the gradient that was received is sent on",
     "That is the output's gradient. The stage before needs the input's: input.gradient()."},
    {"data_as_input", "the input is data, and collects no gradient", "Make a leaf with Variable::parameter()."},
    {"receives_everywhere", "the first stage waits for an input, too", "It has the samples: is_first()."},
    {"last_waits", "the last stage waits for a gradient", "It has the loss: is_last()."},
    {"sends_at_the_end", "outputs are sent after all actions",
     "The next stage waits for them: send as soon as they are computed."},
    {"receives_all_first", "all inputs are received before the first action",
     "The stage before may wait for a gradient of this one, before it sends the next output."},
    {"no_gradient_sent", "the gradient of the input is not sent", "The stage before waits for it."},
    {"ignores_the_list", "all forward passes are done first, whatever the list says", "Do the actions in their order."},
    {"skips_unknown", "a backward pass without its forward pass is left out silently",
     "The stage before would wait for its gradient: throw."},
    {"throws_out_of_range", "a backward pass without its forward pass throws what the container's at() throws",
     "require() throws a ContractError: look with find() first."},
    {"makes_an_entry", "what was kept is looked up with [], which makes an empty entry if there is none",
     "Look with find() or extract(), and let require() throw."},
    {"first_sends", "the first stage sends a gradient, too",
     "It has no input, and nobody comes before it: is_first()."},
    {"newest_input", "the gradient of the input that came last is sent",
     "Keep inputs by micro-batch, as outputs: others may come before the backward pass."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {
namespace {

using exercise::is_mistake;

struct Held {
  int micro_batch;
  Variable input, output;
};

class Loop {
 public:
  explicit Loop(Stage& stage) : stage_(stage) {}

  void receive(int micro_batch) {
    if (!stage_.is_first() || is_mistake("receives_everywhere"))
      arrived_.emplace(micro_batch, stage_.receive_input(micro_batch));
  }

  void forward(int micro_batch) {
    if (!arrived_.contains(micro_batch)) receive(micro_batch);
    Held held{micro_batch, {}, {}};
    if (!stage_.is_first())
      held.input = is_mistake("data_as_input") ? Variable(arrived_.at(micro_batch))
                                               : Variable::parameter(arrived_.at(micro_batch), "");
    arrived_.erase(micro_batch);
    held.output = stage_.forward(micro_batch, held.input);
    if (is_mistake("newest_input")) newest_input_ = held.input;
    if (is_mistake("sends_at_the_end"))
      sent_last_.push_back(held);
    else
      send(held);
    held_.push_back(std::move(held));
  }

  void backward(int micro_batch) {
    const auto found = place_of(micro_batch);
    if (found == held_.end() && is_mistake("skips_unknown")) return;
    if (found == held_.end() && is_mistake("throws_out_of_range")) throw std::out_of_range("map::at");
    const bool is_known = found != held_.end();
    require(is_known || is_mistake("makes_an_entry"), "B", micro_batch, " comes before F", micro_batch);
    const Held held = is_known ? *found : Held{micro_batch, {}, {}};
    if (is_mistake("keeps_inputs")) inputs_left_.push_back(held.input);
    if (is_known && !is_mistake("keeps_everything")) held_.erase(found);
    Tensor gradient;
    if (!stage_.is_last() || is_mistake("last_waits")) gradient = stage_.receive_gradient(micro_batch);
    const Tensor received =
        gradient.is_defined() ? Tensor::from<float>(gradient.span<float>(), gradient.shape()) : Tensor();
    stage_.backward(micro_batch, held.output, std::move(gradient));
    if ((stage_.is_first() && !is_mistake("first_sends")) || is_mistake("no_gradient_sent")) return;
    const bool passes_on = is_mistake("sends_output_gradient") && received.is_defined();
    const Variable& input = is_mistake("newest_input") ? newest_input_ : held.input;
    stage_.send_gradient(micro_batch, passes_on ? received : input.gradient());
  }

  void send_the_rest() {
    for (Held& held : sent_last_) send(held);
  }

 private:
  std::deque<Held>::iterator place_of(int micro_batch) {
    if (held_.empty()) return held_.end();
    if (is_mistake("newest_first")) return held_.end() - 1;
    if (is_mistake("oldest_first")) return held_.begin();
    return std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.micro_batch == micro_batch; });
  }

  void send(Held& held) {
    if (stage_.is_last()) return;
    stage_.send_output(held.micro_batch, held.output.value());
    if (!is_mistake("keeps_outputs")) held.output = held.output.without_value();
  }

  Stage& stage_;
  std::map<int, Tensor> arrived_;
  std::deque<Held> held_;
  std::deque<Held> sent_last_;
  std::deque<Variable> inputs_left_;
  Variable newest_input_;
};

}  // namespace

void run_actions(std::span<const Action> actions, Stage& stage) {
  Loop loop(stage);
  if (is_mistake("receives_all_first"))
    for (const Action& action : actions)
      if (action.pass == Pass::kForward) loop.receive(action.micro_batch);
  if (is_mistake("ignores_the_list")) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward})
      for (const Action& action : actions)
        if (action.pass == pass)
          pass == Pass::kForward ? loop.forward(action.micro_batch) : loop.backward(action.micro_batch);
    return;
  }
  for (const Action& action : actions)
    action.pass == Pass::kForward ? loop.forward(action.micro_batch) : loop.backward(action.micro_batch);
  loop.send_the_rest();
}

}  // namespace lockstep::pipeline
