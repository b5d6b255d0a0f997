#pragma once
/// @file
/// A model whose gradients are averaged over the ranks.
#include <concepts>
#include <memory>
#include <utility>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "nn/module.hpp"

namespace lockstep::accelerate {

/// What prepare() makes of a module: the module itself, by `->`, and what averages its gradients. The module stays as
/// it is and may be used under its own name too. A handle: copies share one wrapper, and the last of them removes it.
/// Lifetime: ends before the accelerator does. Thread safety: one thread.
template <std::derived_from<nn::Module> Model>
class AcceleratedModel {
 public:
  /// @param model    Outlives this object. @param wrapper  Of `model`.
  AcceleratedModel(Model& model, std::shared_ptr<ddp::DistributedDataParallel> wrapper) noexcept
      : model_(&model), wrapper_(std::move(wrapper)) {}

  /// The module: `net->forward(inputs)`.
  [[nodiscard]] Model* operator->() const noexcept { return model_; }
  /// The module.
  [[nodiscard]] Model& operator*() const noexcept { return *model_; }
  /// What averages the gradients (chapter 06).
  [[nodiscard]] ddp::DistributedDataParallel& ddp() const noexcept { return *wrapper_; }

 private:
  Model* model_;
  std::shared_ptr<ddp::DistributedDataParallel> wrapper_;
};

}  // namespace lockstep::accelerate
