#pragma once
/// @file
/// A GPT that ranks divide as exercises 10.1 to 10.3 ask for, in the trainer of chapter 10: `./lockstep run 10 --mine`.
#include <cstdint>
#include <memory>
#include <span>

#include "10_tensor_parallel/gpt/setup.hpp"
#include "10_tensor_parallel/gpt/tensor_layers.hpp"
#include "comm/process_group.hpp"
#include "mine/fingerprints.hpp"
#include "mine/group_collectives.hpp"
#include "nn/module.hpp"

namespace lockstep::mine {

/// The parts that can be the learner's: the cut of an MLP, the exchange of activations, and the loss.
[[nodiscard]] std::span<const Part> tensor_parts();

/// The layers of chapter 10, in which a learner's functions do some of the work:
/// - those of 10.1 cut both matrices of an MLP when the model is made;
/// - those of 10.2 exchange activations wherever every rank has the whole residual stream. If that is divided
///   (--sequence-parallel), they sum the gradients of norms instead;
/// - that of 10.3 is the loss.
///
/// Must outlive the model. Thread safety: one thread.
class DividedLayers final : public tensor_parallel::TensorLayers {
 public:
  /// @param group  Must outlive this object.
  /// @throws UsageError  Some files are the learner's, and the device is not the CPU, or activations are bfloat16.
  DividedLayers(const Fingerprints& files, comm::ProcessGroup& group, const tensor_parallel::Options& options);

  /// @throws ContractError  The learner's part of a matrix is not as large as this rank's.
  [[nodiscard]] std::unique_ptr<nn::Projection> wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                     const nn::InitScope& scope) const override;
  /// @throws ContractError  As wide().
  [[nodiscard]] std::unique_ptr<nn::Projection> narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                       const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::TokenTable> table(const nn::GptConfig& config, nn::Owner owner,
                                                      const nn::InitScope& scope) const override;

  /// As tensor_parallel::sum_partial_gradients().
  void sum_partial_gradients(nn::Module& model) const;

 private:
  comm::ProcessGroup& group_;
  tensor_parallel::RowLayout rows_;
  bool cuts_, exchanges_, sums_norms_, has_loss_;  // the learner's
  std::unique_ptr<GroupCollectives> collectives_;  // for the learner's functions, which may keep a reference
};

}  // namespace lockstep::mine
