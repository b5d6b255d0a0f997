#pragma once
/// @file
/// The base of every layer and model.
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/variable.hpp"
#include "nn/init.hpp"
#include "tensor/named_tensor.hpp"
#include "tensor/slice.hpp"

namespace lockstep::nn {

/// A parameter and its full name, for example "h.0.attn.c_attn.weight". If ranks divide a parameter among themselves,
/// each has its elements as a parameter of their own, under the name of the whole.
struct NamedParameter {
  std::string name;
  autograd::Variable parameter;
  /// The elements of the whole tensor that `parameter` holds: all of them, unless other ranks hold some.
  Slice slice = parameter.is_defined() ? Slice::of(parameter.shape()) : Slice{};
  bool is_owned = true;  ///< Of the ranks that hold these elements, one owns them: it counts and saves them.
};

/// A tensor that belongs to the model's state but is not trained (a running mean, a mask). Copies are handles of one
/// buffer, which Module::to() moves.
class Buffer {
 public:
  Buffer() = default;
  /// The elements, in their current storage. @throws ContractError  Default-constructed.
  [[nodiscard]] const Tensor& value() const;

 private:
  friend class Module;
  explicit Buffer(Tensor value) : value_(std::make_shared<Tensor>(std::move(value))) {}

  std::shared_ptr<Tensor> value_;
};

/// A buffer's elements and its full name.
struct NamedBuffer {
  std::string name;
  Tensor value;  ///< Shares the module's storage: copying into it loads.
};

/// Whether load_state_dict() accepts a state with missing or surplus names.
enum class Strict {
  kYes,  ///< Missing or surplus names are an error.
  kNo,   ///< Names in both are loaded, the rest is reported.
};

/// The names that load_state_dict() found in only one of the two (PyTorch's _IncompatibleKeys).
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;     ///< The module has them, the state does not.
  std::vector<std::string> unexpected_keys;  ///< The state has them, the module does not.
};

/// Of the ranks that hold the same elements of a parameter, the one that counts them in norms and saves them.
enum class Owner { kThisRank, kAnotherRank };

class Module;

/// A module and its path in the model, for example "h.0.attn.c_attn"; the model's own path is empty.
struct NamedModule {
  std::string name;
  Module& module;  ///< Lives as long as the model.
};

/// The other inputs of a forward pass. Random numbers depend on (seed, step, layer, sample id, element) and never on
/// the rank, so the same global batch draws the same dropout masks on any number of ranks.
struct ForwardContext {
  bool is_training = false;                       ///< Whether dropout is active.
  std::uint64_t seed = 0;                         ///< Of the job.
  std::int64_t step = 0;                          ///< Counts optimizer steps.
  std::span<const std::int64_t> sample_ids = {};  ///< [B], global ids of the batch's samples; for dropout only.
};

/// A layer or model: parameters by name, children by prefix. Not copyable. Thread safety: none.
/// ```cpp
/// class Mlp : public nn::Module {
///  public:
///   explicit Mlp(const nn::InitScope& scope)
///       : fc1_(child<nn::Linear>("fc1", 784, 256, scope)), fc2_(child<nn::Linear>("fc2", 256, 10, scope)) {}
///  private:
///   nn::Linear &fc1_, &fc2_;
/// };
/// ```
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// All parameters with full names, in registration order; a tied parameter once, under its first name. To train the
  /// model, call this before the first backward().
  [[nodiscard]] std::vector<NamedParameter> named_parameters() const;
  /// Like named_parameters(), without names.
  [[nodiscard]] std::vector<autograd::Variable> parameters() const;
  /// All buffers with full names, in registration order.
  [[nodiscard]] std::vector<NamedBuffer> named_buffers() const;
  /// This module and all below it with their paths, parents before their children, in registration order. To hook a
  /// layer, or to freeze a part: `dynamic_cast<nn::Layer&>(named.module)`.
  [[nodiscard]] std::vector<NamedModule> named_modules();
  [[nodiscard]] std::int64_t parameter_count() const;

  void zero_grad();

  /// Parameters, then buffers, with full names; a tied parameter once. Nothing is copied.
  [[nodiscard]] std::vector<NamedTensor> state_dict() const;
  /// Copies the elements of `state` into the parameters and buffers of the same names, from any device; bfloat16 and
  /// float16 become float32, and float32 either of them. A tied parameter may come under any of its names. Nothing is
  /// written if it throws.
  /// @param state   Such as another module's state_dict(), or the contents of a file.
  /// @param strict  Whether the names must match exactly.
  /// @return        With Strict::kNo, the names that were skipped.
  /// @throws FormatError  With Strict::kYes, lists all missing and surplus names. Always: a tensor has another shape or
  ///                      an incompatible type, or a name comes twice.
  IncompatibleKeys load_state_dict(std::span<const NamedTensor> state, Strict strict = Strict::kYes);

  /// Moves parameters, written gradients and buffers to `device`. Optimizer state stays behind, and values taken before
  /// become copies: call it before making the optimizer.
  /// @throws ContractError  A parameter has an observer (DistributedDataParallel, for example). Then nothing has moved.
  void to(Device device);

  /// Freezes or unfreezes all parameters of this module and its children: Variable::set_requires_grad().
  void set_requires_grad(bool requires_grad);

 protected:
  /// Registers a parameter and returns it. Layers take initial values from an InitScope; with those of a deferred one,
  /// the parameter is born without elements.
  /// @throws ContractError  The name is taken.
  autograd::Variable register_parameter(std::string name, InitialValues value);
  /// Registers some elements of a parameter, whose other elements are on other ranks.
  /// @param name   Of the whole parameter.
  /// @param value  The elements, of slice.shape().
  /// @throws ContractError  The name is taken, or `value` has another shape.
  autograd::Variable register_part(std::string name, InitialValues value, const Slice& slice,
                                   Owner owner = Owner::kThisRank);
  /// Registers a parameter that another layer owns too: a tied weight.
  void register_tied_parameter(std::string name, const autograd::Variable& parameter);
  /// Registers a tensor that is saved and broadcast with the model but has no gradient.
  /// @return  Its handle, for forward(). @throws ContractError  The name is taken.
  Buffer register_buffer(std::string name, Tensor value);
  /// Makes a child, which this module owns, and registers it: `child<Linear>("fc1", inputs, hidden, scope)`. Its
  /// parameters appear as "fc1.<theirs>", in messages too.
  ///
  /// A layer that is made in any other way must be registered with register_module(). Otherwise it is in no list of
  /// parameters, and backward() refuses a loss that depends on it.
  /// @param name       Unique among the children.
  /// @param arguments  Of T's constructor, with this module's InitScope in place of the child's.
  /// @return           Lives as long as this module.
  /// @throws ContractError  The name is taken.
  template <std::derived_from<Module> T, typename... Arguments>
  T& child(std::string name, Arguments&&... arguments) {
    auto made = std::make_unique<T>(for_child(name, std::forward<Arguments>(arguments))...);
    T& result = *made;
    adopt(std::move(name), std::move(made));
    return result;
  }
  /// As child(), for one that is made already, with the scope `scope.child(name)`.
  /// @return  Lives as long as this module. @throws ContractError  The name is taken.
  template <std::derived_from<Module> T>
  T& own(std::string name, std::unique_ptr<T> made) {
    T& result = *made;
    adopt(std::move(name), std::move(made));
    return result;
  }
  /// Registers an existing module as the child called `name`.
  /// @param child  Must have registered its own parameters, and outlive this module.
  /// @throws ContractError  The name is taken.
  void register_module(std::string name, Module& child);

 private:
  struct Entry {
    std::string name;
    autograd::Variable parameter;  // undefined for a child and for a buffer
    Module* child = nullptr;
    Buffer buffer = {};                       // empty unless this is a buffer
    std::unique_ptr<Module> owned = nullptr;  // the child, if this module made it
    std::optional<Slice> slice = {};          // of a part of a parameter
    Owner owner = Owner::kThisRank;           // of a part of a parameter
  };
  // Turns a scope into that of the child; passes everything else on.
  template <typename Argument>
  static decltype(auto) for_child(std::string_view name, Argument&& argument) {
    if constexpr (std::same_as<std::remove_cvref_t<Argument>, InitScope>) {
      return argument.child(name);
    } else {
      return std::forward<Argument>(argument);
    }
  }
  void adopt(std::string name, std::unique_ptr<Module> child);
  void add_entry(Entry entry);
  void append_to(std::vector<NamedParameter>& all, const std::string& prefix) const;
  void append_to(std::vector<NamedModule>& all, const std::string& path);
  void append_to(std::vector<NamedBuffer>& all, const std::string& prefix) const;
  void move_buffers(Device device);
  void append_tied_to(std::vector<NamedTensor>& all, const std::string& prefix) const;

  std::vector<Entry> entries_;
};

/// Parameters that an optimizer treats alike.
struct ParameterGroup {
  std::vector<NamedParameter> parameters;
  double weight_decay = 0;
  double learning_rate_scale = 1;  ///< Multiplies the learning rate of each step.
};

/// The parameters of `module` that are not frozen, as named_parameters().
[[nodiscard]] std::vector<NamedParameter> trained_parameters(const Module& module);

/// The trained_parameters() of `module`, without weight decay.
[[nodiscard]] ParameterGroup all_parameters(const Module& module);

/// The trained_parameters() in two groups, as GPT-2 is trained: matrices and embeddings (two dimensions or more) decay,
/// biases and norms do not. The dimensions are those of the whole parameter, whichever of its elements this rank holds.
[[nodiscard]] std::vector<ParameterGroup> weight_decay_groups(const Module& module, double weight_decay);

}  // namespace lockstep::nn
