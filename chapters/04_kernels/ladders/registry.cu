// The compiled copy's list. A program that links two copies, plain and checked, asks either copy for its list.
#include "registry.hpp"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE {

const Registry& registry() {
  static constexpr Registry kRegistry = {ladder_of(reduction::kRungs),       ladder_of(matrix_product::kRungs),
                                         ladder_of(softmax::kRungs),         ladder_of(adamw::kRungs),
                                         ladder_of(transpose::kRungs),       ladder_of(layer_norm::kRungs),
                                         ladder_of(flash_attention::kRungs), ladder_of(tensor_cores::kRungs)};
  return kRegistry;
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE
