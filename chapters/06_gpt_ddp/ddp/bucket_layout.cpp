#include "06_gpt_ddp/ddp/bucket_layout.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"
#include "base/text.hpp"

namespace lockstep::ddp {
namespace {

constexpr std::int64_t kViewAlignment = 64;  // bytes: one cache line, one AVX-512 register

std::int64_t view_bytes(const nn::NamedParameter& named) {
  return round_up(named.parameter.value().bytes(), kViewAlignment);
}

// Gives a bucket the bytes of `memory` from `begin` on. @return  The offset of the next bucket.
std::size_t place(Bucket& bucket, std::span<const nn::NamedParameter> parameters,
                  const std::shared_ptr<Storage>& memory, std::size_t begin) {
  const DType dtype = parameters[bucket.parameters.front()].parameter.value().dtype();
  const auto element_bytes = static_cast<std::int64_t>(bytes_of(dtype));
  std::int64_t bytes = 0;
  for (const std::size_t i : bucket.parameters) bytes += view_bytes(parameters[i]);
  bucket.gradients = Tensor::view_of(memory, begin, {bytes / element_bytes}, dtype);
  bucket.gradients.fill_zero();  // the gaps between views are sent too, so they must hold numbers
  std::int64_t offset = 0;
  bucket.ends.clear();
  for (const std::size_t i : bucket.parameters) {
    const Tensor& value = parameters[i].parameter.value();
    parameters[i].parameter.rebind_gradient(
        Tensor::view_of(memory, begin + static_cast<std::size_t>(offset), value.shape(), value.dtype()));
    offset += view_bytes(parameters[i]);
    bucket.ends.push_back(offset / element_bytes);
  }
  return begin + static_cast<std::size_t>(bytes);
}

// Holds gradients while their memory is laid out again. Several share a block, so that the freed pieces also fit other
// tensors.
class TemporaryGradients {
 public:
  [[nodiscard]] Tensor take(const nn::NamedParameter& named) {
    const Tensor& value = named.parameter.value();
    const auto bytes = static_cast<std::size_t>(view_bytes(named));
    if (!block_ || used_ + bytes > block_->bytes()) {
      block_ = Storage::allocate(std::max(bytes, kBlockBytes), value.device());
      used_ = 0;
    }
    const std::size_t begin = std::exchange(used_, used_ + bytes);
    return Tensor::view_of(block_, begin, value.shape(), value.dtype());
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
  std::shared_ptr<Storage> block_;
  std::size_t used_ = 0;
};

}  // namespace

std::vector<Bucket> lay_out_buckets(std::span<const nn::NamedParameter> parameters, std::span<const std::size_t> order,
                                    const BucketLimits& limits) {
  std::vector<Bucket> buckets;
  std::int64_t bytes_in_last = 0;
  DType dtype_of_last = DType::kFloat32;
  for (const std::size_t i : order) {
    const Tensor& value = parameters[i].parameter.value();
    const std::int64_t limit = buckets.size() <= 1 ? limits.first_bytes : limits.bytes;
    if (buckets.empty() || dtype_of_last != value.dtype() || bytes_in_last + value.bytes() > limit) {
      buckets.push_back({.index = buckets.size()});
      bytes_in_last = 0;
      dtype_of_last = value.dtype();
    }
    buckets.back().parameters.push_back(i);
    bytes_in_last += round_up(value.bytes(), kViewAlignment);
  }
  return buckets;
}

std::size_t gradient_bytes(std::span<const nn::NamedParameter> parameters) {
  std::int64_t bytes = 0;
  for (const nn::NamedParameter& named : parameters) bytes += view_bytes(named);
  return static_cast<std::size_t>(bytes);
}

void place_buckets(std::vector<Bucket>& buckets, std::span<const nn::NamedParameter> parameters,
                   const std::shared_ptr<Storage>& memory) {
  TemporaryGradients aside;
  for (const nn::NamedParameter& named : parameters) {
    if (named.parameter.node()->gradient.storage() == memory) named.parameter.rebind_gradient(aside.take(named));
  }
  std::size_t begin = 0;
  for (Bucket& bucket : buckets) begin = place(bucket, parameters, memory, begin);
}

std::vector<std::string> names_in_order(std::span<const Bucket> buckets,
                                        std::span<const nn::NamedParameter> parameters) {
  std::vector<std::string> names;
  for (const Bucket& bucket : buckets) {
    for (const std::size_t i : bucket.parameters) names.push_back(parameters[i].name);
  }
  return names;
}

std::vector<std::size_t> indices_of(std::span<const std::string> names,
                                    std::span<const nn::NamedParameter> parameters) {
  std::vector<std::size_t> order;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(parameters, name, &nn::NamedParameter::name);
    if (found == parameters.end())
      throw FormatError(
          concat("a saved order of buckets has ", name, ", which the model does not have, or does not train"));
    order.push_back(static_cast<std::size_t>(found - parameters.begin()));
  }
  const std::set<std::size_t> different(order.begin(), order.end());
  if (order.size() == parameters.size() && different.size() == order.size()) return order;
  throw FormatError(concat("a saved order of buckets has ", order.size(), " names, ", different.size(),
                           " of them distinct, for a model with ", parameters.size(), " parameters"));
}

comm::Buffer as_buffer(const Tensor& tensor) {
  return {tensor.data(), tensor.count(), tensor.dtype(), tensor.device(), tensor.storage()};
}

}  // namespace lockstep::ddp
