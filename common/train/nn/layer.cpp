#include "nn/layer.hpp"

#include <algorithm>

#include "autograd/node.hpp"
#include "base/error.hpp"

namespace lockstep::nn {

using autograd::Variable;

namespace {

// Runs the hooks that are still registered; each may replace the value it is shown.
template <typename Hooks, typename Value, typename Run>
void run_hooks(const Hooks& hooks, Value& value, const Run& run) {
  for (std::size_t i = 0; i < hooks.size(); ++i) {  // a hook may register another one
    const auto hook = hooks[i].lock();
    if (!hook) continue;
    if (Value replacement = run(*hook); replacement.is_defined()) value = std::move(replacement);
  }
}

template <typename Hooks>
bool is_any_alive(const Hooks& hooks) {
  return std::ranges::any_of(hooks, [](const auto& hook) { return !hook.expired(); });
}

void require_shape(const Tensor& gradient, const Shape& shape) {
  require(!gradient.is_defined() || gradient.shape() == shape, "nn: a backward hook gave a gradient of shape ",
          gradient.shape(), " for one of shape ", shape);
}

}  // namespace

// One call of a layer with backward hooks.
struct Layer::Call {
  const Layer& layer;
  Tensor output_gradient;

  [[nodiscard]] Tensor before(Tensor gradient) {
    const Shape shape = gradient.shape();
    run_hooks(layer.backward_pre_hooks_, gradient, [&](const BackwardPreHook& hook) {
      Tensor replacement = hook(layer, gradient);
      require_shape(replacement, shape);
      return replacement;
    });
    output_gradient = gradient;
    return gradient;
  }

  [[nodiscard]] Tensor after(Tensor gradient) {
    const Shape shape = gradient.shape();
    run_hooks(layer.backward_hooks_, gradient, [&](const BackwardHook& hook) {
      Tensor replacement = hook(layer, gradient, output_gradient);
      require_shape(replacement, shape);
      return replacement;
    });
    output_gradient = Tensor();
    return gradient;
  }
};

std::shared_ptr<Layer::Call> Layer::begin_backward_call() const {
  const bool is_watched = is_any_alive(backward_pre_hooks_) || is_any_alive(backward_hooks_);
  return is_watched && autograd::is_grad_enabled() ? std::make_shared<Call>(Call{*this, {}}) : nullptr;
}

Variable Layer::operator()(const Variable& input) const {
  return call(input, [this](const Variable& given) { return forward(given); });
}

Variable Layer::call(const Variable& given, const std::function<Variable(const Variable&)>& body) const {
  Variable input = given;
  run_hooks(forward_pre_hooks_, input, [&](const ForwardPreHook& hook) { return hook(*this, input); });
  const std::shared_ptr<Call> call = begin_backward_call();
  if (call && input.requires_grad()) {
    const Variable outside = input.without_value();
    input = autograd::record(input.value(), {input}, [call, outside](Tensor gradient) {
      outside.accumulate_gradient(call->after(std::move(gradient)));
    });
  }
  Variable output = body(input);
  run_hooks(forward_hooks_, output, [&](const ForwardHook& hook) { return hook(*this, input, output); });
  if (!call || !output.requires_grad()) return output;
  const bool is_input_watched = input.requires_grad();
  return autograd::record(output.value(), {output},
                          [call, inside = output.without_value(), is_input_watched](Tensor gradient) {
                            gradient = call->before(std::move(gradient));
                            if (!is_input_watched) (void)call->after(Tensor());
                            inside.accumulate_gradient(std::move(gradient));
                          });
}

template <typename Hook>
HookHandle Layer::add_hook(Hooks<Hook>& hooks, Hook hook) {
  require(static_cast<bool>(hook), "nn: a hook that is not a function");
  std::erase_if(hooks, [](const auto& other) { return other.expired(); });
  auto owner = std::make_shared<const Hook>(std::move(hook));
  hooks.push_back(owner);
  return HookHandle(std::move(owner));
}

HookHandle Layer::register_forward_pre_hook(ForwardPreHook hook) {
  return add_hook(forward_pre_hooks_, std::move(hook));
}
HookHandle Layer::register_forward_hook(ForwardHook hook) { return add_hook(forward_hooks_, std::move(hook)); }
HookHandle Layer::register_full_backward_pre_hook(BackwardPreHook hook) {
  return add_hook(backward_pre_hooks_, std::move(hook));
}
HookHandle Layer::register_full_backward_hook(BackwardHook hook) { return add_hook(backward_hooks_, std::move(hook)); }

Sequential& Sequential::append(Function function) {
  require(static_cast<bool>(function), "nn: step ", steps_.size(), " of a Sequential is not a function");
  steps_.push_back(std::move(function));
  return *this;
}

Variable Sequential::forward(const Variable& input) const {
  Variable value = input;
  for (const Function& step : steps_) value = step(value);
  return value;
}

}  // namespace lockstep::nn
