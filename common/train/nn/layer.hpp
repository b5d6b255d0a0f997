#pragma once
/// @file
/// Modules from one variable to one, hooks on their calls, and chains of them.
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.hpp"
#include "nn/module.hpp"

namespace lockstep::nn {

class Layer;

/// Called before forward() with its input. @return  Replaces the input; undefined: no change.
using ForwardPreHook = std::function<autograd::Variable(const Layer& layer, const autograd::Variable& input)>;
/// Called after forward(). @return  Replaces the output; undefined: no change.
using ForwardHook = std::function<autograd::Variable(const Layer& layer, const autograd::Variable& input,
                                                     const autograd::Variable& output)>;
/// Called in backward() when the gradient of a call's output is complete, before it goes through the layer.
/// @return  Replaces the gradient, same shape; undefined: no change.
using BackwardPreHook = std::function<Tensor(const Layer& layer, const Tensor& output_gradient)>;
/// Called in backward() when the gradient of a call's input is complete. If the input needs none, `input_gradient` is
/// undefined and the call comes right after the BackwardPreHooks.
/// @return  Replaces the gradient, same shape; undefined: no change.
using BackwardHook =
    std::function<Tensor(const Layer& layer, const Tensor& input_gradient, const Tensor& output_gradient)>;

/// Keeps a hook registered until the handle is destroyed or remove() is called. May outlive the layer.
class [[nodiscard]] HookHandle {
 public:
  HookHandle() = default;  ///< No hook.
  /// For Layer. @param hook  Its only owner.
  explicit HookHandle(std::shared_ptr<const void> hook) noexcept : hook_(std::move(hook)) {}
  HookHandle(HookHandle&&) = default;
  HookHandle& operator=(HookHandle&&) = default;
  void remove() noexcept { hook_.reset(); }

 private:
  std::shared_ptr<const void> hook_;
};

/// A module that computes one variable from one. Call a layer as `layer(x)` and implement forward(), as in PyTorch: a
/// call runs the hooks around forward(). Hooks run in order of registration, on every call while their handles live;
/// without hooks, a call costs no more than forward().
class Layer : public Module {
 public:
  /// forward(input) with the hooks around it.
  autograd::Variable operator()(const autograd::Variable& input) const;

  /// The layer's computation; without hooks if called directly.
  [[nodiscard]] virtual autograd::Variable forward(const autograd::Variable& input) const = 0;

  /// @param hook  Called before forward(). @return  Keeps it registered.
  HookHandle register_forward_pre_hook(ForwardPreHook hook);
  /// @param hook  Called after forward(). @return  Keeps it registered.
  HookHandle register_forward_hook(ForwardHook hook);
  /// @param hook  Called before backward goes through the layer, which must live until then.
  /// @return      Keeps it registered.
  HookHandle register_full_backward_pre_hook(BackwardPreHook hook);
  /// @param hook  Called after backward has gone through the layer, which must live until then.
  /// @return      Keeps it registered.
  HookHandle register_full_backward_hook(BackwardHook hook);

 protected:
  /// For another computation than forward(): body(input), with the hooks around it.
  [[nodiscard]] autograd::Variable call(const autograd::Variable& input,
                                        const std::function<autograd::Variable(const autograd::Variable&)>& body) const;

 private:
  template <typename Hook>
  using Hooks = std::vector<std::weak_ptr<const Hook>>;
  struct Call;

  template <typename Hook>
  static HookHandle add_hook(Hooks<Hook>& hooks, Hook hook);
  [[nodiscard]] std::shared_ptr<Call> begin_backward_call() const;

  Hooks<ForwardPreHook> forward_pre_hooks_;
  Hooks<ForwardHook> forward_hooks_;
  Hooks<BackwardPreHook> backward_pre_hooks_;
  Hooks<BackwardHook> backward_hooks_;
};

/// Layers and functions, one after the other, named "0", "1", ... as torch.nn.Sequential's:
/// ```cpp
/// nn::Sequential model;
/// model.append<nn::Linear>(784, 256, scope).append(autograd::relu).append<nn::Linear>(256, 10, scope);
/// const autograd::Variable logits = model(images);
/// ```
class Sequential : public Layer {
 public:
  /// A step without parameters.
  using Function = std::function<autograd::Variable(const autograd::Variable&)>;

  Sequential() = default;

  /// Makes a layer and appends it.
  /// @param arguments  Of T's constructor, with an InitScope for the parameters' initial values; see Module::child().
  template <std::derived_from<Layer> T, typename... Arguments>
  Sequential& append(Arguments&&... arguments) {
    const Layer& layer = child<T>(std::to_string(steps_.size()), std::forward<Arguments>(arguments)...);
    steps_.emplace_back([&layer](const autograd::Variable& input) { return layer(input); });
    return *this;
  }
  /// Appends a function, such as autograd::relu; it takes a number too, as torch.nn.ReLU does.
  Sequential& append(Function function);

  /// Counts layers and functions.
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }

  /// Runs the steps in order, each on the previous one's output. Without steps, returns `input`.
  [[nodiscard]] autograd::Variable forward(const autograd::Variable& input) const override;

 private:
  std::vector<Function> steps_;
};

}  // namespace lockstep::nn
