#pragma once
/// @file
/// A model whose gradients are averaged over the ranks.
#include <concepts>
#include <memory>
#include <utility>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "nn/module.hpp"

namespace lockstep::accelerate {

/// prepare()'s handle for a module: gives access to the module by `->`, and averages its gradients. The module is
/// unchanged and may still be used under its own name. Copies share one wrapper, and the last of them removes it.
/// Lifetime: must end before the accelerator's. Thread safety: one thread.
template <std::derived_from<nn::Module> Model>
class AcceleratedModel {
 public:
  /// @param model    Outlives this object. @param wrapper  The wrapper of `model`.
  AcceleratedModel(Model& model, std::shared_ptr<ddp::DistributedDataParallel> wrapper) noexcept
      : model_(&model), wrapper_(std::move(wrapper)) {}

  /// The module: `net->forward(inputs)`.
  [[nodiscard]] Model* operator->() const noexcept { return model_; }
  [[nodiscard]] Model& operator*() const noexcept { return *model_; }
  /// The wrapper that averages the gradients (chapter 06).
  [[nodiscard]] ddp::DistributedDataParallel& ddp() const noexcept { return *wrapper_; }

 private:
  Model* model_;
  std::shared_ptr<ddp::DistributedDataParallel> wrapper_;
};

}  // namespace lockstep::accelerate
