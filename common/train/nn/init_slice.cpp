// Initial values of a part of a parameter. They depend on the number of an element in the whole tensor and on nothing
// else, so a part is made without the rest.
#include <algorithm>
#include <array>
#include <utility>

#include "nn/init.hpp"
#include "nn/init_blocks.hpp"

namespace lockstep::nn {
namespace {

template <typename T, typename Generate>
void fill_run(std::span<T> values, std::uint64_t first, const Generate& generate) {
  for (std::size_t done = 0; done < values.size();) {
    const std::uint64_t element = first + done;
    const std::array<float, 4> four = generate(element / 4);
    const std::size_t skipped = element % 4, count = std::min(4 - skipped, values.size() - done);
    for (std::size_t i = 0; i < count; ++i) values[done + i] = static_cast<T>(four[skipped + i]);
    done += count;
  }
}

template <typename T, typename Generate>
void fill_runs(const Tensor& tensor, const Slice& slice, const Generate& generate) {
  std::span<T> rest = tensor.span<T>();
  slice.for_each_run([&](Range run) {
    const auto count = static_cast<std::size_t>(run.count());
    fill_run(rest.first(count), static_cast<std::uint64_t>(run.begin), generate);
    rest = rest.subspan(count);
  });
}

template <typename Generate>
Tensor generate_slice(const Slice& slice, DType dtype, Device device, const Generate& generate) {
  Tensor tensor = Tensor::empty(slice.shape(), dtype);
  if (dtype == DType::kFloat64) {
    fill_runs<double>(tensor, slice, generate);
  } else {
    fill_runs<float>(tensor, slice, generate);
  }
  return tensor.to(device);
}

}  // namespace

Tensor InitScope::normal(std::string_view name, const Slice& slice, double deviation) const {
  require_valid(slice);
  if (is_skipped_) return Tensor::empty(slice.shape(), dtype_, device_);
  const auto scale = static_cast<float>(deviation);
  return generate_slice(slice, dtype_, device_, [scale, stream = key(name)](std::uint64_t block) {
    return normal_block(stream, scale, block);
  });
}

Tensor InitScope::uniform(std::string_view name, const Slice& slice, double bound) const {
  require_valid(slice);
  if (is_skipped_) return Tensor::empty(slice.shape(), dtype_, device_);
  const auto scale = static_cast<float>(bound);
  return generate_slice(slice, dtype_, device_, [scale, stream = key(name)](std::uint64_t block) {
    return uniform_block(stream, scale, block);
  });
}

}  // namespace lockstep::nn
