#include "nn/init.hpp"

#include <array>

#include "base/philox.hpp"
#include "nn/init_fill.hpp"

namespace lockstep::nn {
namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo, 1991): names become keys the same way in every build.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char character : text) value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return value;
}

}  // namespace

InitScope InitScope::skip_init(Device device, DType dtype) {
  InitScope scope(0, dtype, device);
  scope.is_skipped_ = true;
  return scope;
}

InitScope InitScope::child(std::string_view name) const {
  InitScope scope = *this;
  scope.prefix_.append(name).push_back('.');
  return scope;
}

std::uint64_t InitScope::key(std::string_view name) const { return mix64(seed_, hash(prefix_ + std::string(name))); }

Tensor InitScope::normal(std::string_view name, const Shape& shape, double deviation) const {
  if (is_skipped_) return Tensor::empty(shape, dtype_, device_);
  const auto scale = static_cast<float>(deviation);
  return generate(shape, dtype_, device_,
                  [scale, stream = key(name)](std::uint64_t block) { return normal_block(stream, scale, block); });
}

Tensor InitScope::uniform(std::string_view name, const Shape& shape, double bound) const {
  if (is_skipped_) return Tensor::empty(shape, dtype_, device_);
  const auto scale = static_cast<float>(bound);
  return generate(shape, dtype_, device_,
                  [scale, stream = key(name)](std::uint64_t block) { return uniform_block(stream, scale, block); });
}

Tensor InitScope::normal(std::string_view name, const Slice& slice, double deviation) const {
  require_valid(slice);
  if (is_skipped_) return Tensor::empty(slice.shape(), dtype_, device_);
  const auto scale = static_cast<float>(deviation);
  return generate(slice, dtype_, device_,
                  [scale, stream = key(name)](std::uint64_t block) { return normal_block(stream, scale, block); });
}

Tensor InitScope::uniform(std::string_view name, const Slice& slice, double bound) const {
  require_valid(slice);
  if (is_skipped_) return Tensor::empty(slice.shape(), dtype_, device_);
  const auto scale = static_cast<float>(bound);
  return generate(slice, dtype_, device_,
                  [scale, stream = key(name)](std::uint64_t block) { return uniform_block(stream, scale, block); });
}

Tensor InitScope::constant(const Shape& shape, double value) const {
  if (is_skipped_) return Tensor::empty(shape, dtype_, device_);
  const std::array<float, 4> four = [value] {
    std::array<float, 4> values{};
    values.fill(static_cast<float>(value));
    return values;
  }();
  return generate(shape, dtype_, device_, [&](std::uint64_t) { return four; });
}

}  // namespace lockstep::nn
