#pragma once
/// @file
/// The base of every layer and model.
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/variable.hpp"
#include "nn/init.hpp"

namespace lockstep::nn {

/// A parameter and its full name, for example "h.0.attn.c_attn.weight".
struct NamedParameter {
  std::string name;              ///< Full name.
  autograd::Variable parameter;  ///< The variable itself.
};

/// A tensor that belongs to the model's state and is not trained (a running mean, a mask), and its full name.
struct NamedBuffer {
  std::string name;  ///< Full name.
  Tensor value;      ///< Shares the module's storage: copying into it loads.
};

/// What a forward pass needs beside its inputs. Random numbers depend on (seed, step, layer, sample id, element) and
/// never on the rank, so the same global batch draws the same dropout masks on any number of ranks.
struct ForwardContext {
  bool is_training = false;  ///< Whether dropout drops.
  std::uint64_t seed = 0;    ///< Of the job.
  std::int64_t step = 0;     ///< Counts optimizer steps.
  std::span<const std::int64_t> sample_ids =
      {};  ///< [B], global ids of the batch's samples; read only if dropout drops.
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

  /// All parameters with full names, in registration order; a tied parameter once, under its first name. Whoever
  /// trains the model asks for them before the first backward().
  [[nodiscard]] std::vector<NamedParameter> named_parameters() const;
  /// As named_parameters(), without names.
  [[nodiscard]] std::vector<autograd::Variable> parameters() const;
  /// All buffers with full names, in registration order.
  [[nodiscard]] std::vector<NamedBuffer> named_buffers() const;
  /// Total number of elements of parameters().
  [[nodiscard]] std::int64_t parameter_count() const;

  /// Marks every gradient unwritten.
  void zero_grad();

 protected:
  /// Registers a parameter under `name` and returns it. Layers take initial values from an InitScope.
  /// @throws ContractError  The name is taken.
  autograd::Variable register_parameter(std::string name, Tensor value);
  /// Registers a parameter that another layer owns too: a tied weight.
  void register_tied_parameter(std::string name, const autograd::Variable& parameter);
  /// Registers a tensor that is saved and broadcast with the model but has no gradient, and returns it.
  /// @throws ContractError  The name is taken.
  Tensor register_buffer(std::string name, Tensor value);
  /// Makes a child, which this module owns, and registers it: `child<Linear>("fc1", inputs, hidden, scope)`. Its
  /// parameters appear as "fc1.<theirs>", in messages too.
  ///
  /// A layer that is made in any other way has to be registered with register_module(). One that is not is in no list
  /// of parameters, and backward() refuses a loss that depends on it.
  /// @param name       Unlike those of the other children.
  /// @param arguments  Of T's constructor, with this module's InitScope in the place of the child's.
  /// @return           Lives as long as this module.
  /// @throws ContractError  The name is taken.
  template <std::derived_from<Module> T, typename... Arguments>
  T& child(std::string name, Arguments&&... arguments) {
    auto made = std::make_unique<T>(for_child(name, std::forward<Arguments>(arguments))...);
    T& result = *made;
    adopt(std::move(name), std::move(made));
    return result;
  }
  /// Registers a module that lives elsewhere as the child called `name`.
  /// @param child  Has registered what it owns, and outlives this module.
  /// @throws ContractError  The name is taken.
  void register_module(std::string name, Module& child);

 private:
  struct Entry {
    std::string name;
    autograd::Variable parameter;  // undefined for a child and for a buffer
    Module* child = nullptr;
    Tensor buffer = {};
    std::unique_ptr<Module> owned = nullptr;  // the child, if this module has made it
  };
  // A scope becomes that of the child; all else stays as it is.
  template <typename Argument>
  static decltype(auto) for_child(std::string_view name, Argument&& argument) {
    if constexpr (std::same_as<std::remove_cvref_t<Argument>, InitScope>) {
      return argument.child(name);
    } else {
      return std::forward<Argument>(argument);
    }
  }
  void adopt(std::string name, std::unique_ptr<Module> child);
  void add(Entry entry);
  void append_to(std::vector<NamedParameter>& all, const std::string& prefix) const;
  void append_to(std::vector<NamedBuffer>& all, const std::string& prefix) const;

  std::vector<Entry> entries_;
};

/// Parameters that an optimizer treats alike.
struct ParameterGroup {
  std::vector<NamedParameter> parameters;  ///< Of this group.
  double weight_decay = 0;                 ///< 0: none.
  double learning_rate_scale = 1;          ///< Times the learning rate of each step.
};

/// The parameters of `module` that are not frozen, as named_parameters().
[[nodiscard]] std::vector<NamedParameter> trained_parameters(const Module& module);

/// The trained_parameters() of `module`, without weight decay.
[[nodiscard]] ParameterGroup all_parameters(const Module& module);

/// The trained_parameters() in two groups, as GPT-2 is trained: matrices and embeddings (two dimensions or more) decay, biases and norms do not.
[[nodiscard]] std::vector<ParameterGroup> weight_decay_groups(const Module& module, double weight_decay);

}  // namespace lockstep::nn
