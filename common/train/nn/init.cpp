#include "nn/init.hpp"

#include <array>
#include <utility>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "device/memory_limit.hpp"
#include "nn/init_fill.hpp"

namespace lockstep::nn {
namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo, 1991): names become keys the same way in every build.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char character : text) value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return value;
}

// "initial values of h.0.attn.c_attn.weight": what the memory is for, if there is not enough.
std::string purpose_of(std::string_view prefix, std::string_view name) {
  std::string text = concat("initial values of ", prefix, name);
  if (name.empty() && !prefix.empty()) text.pop_back();  // a constant has no name of its own
  return text;
}

// A recipe for a whole tensor, of a Shape, or for a Slice of one.
template <typename Part>
InitialValues::Recipe draw(std::string_view prefix, std::string_view name, const Part& part, DType dtype,
                           BlockGenerator blocks) {
  return [text = purpose_of(prefix, name), part, dtype, blocks = std::move(blocks)](Device device) {
    const AllocationPurpose purpose(text, {}, MemoryNeed::kOfModel);
    return generate(part, dtype, device, blocks);
  };
}

InitialValues::Recipe leave_unset(std::string_view prefix, std::string_view name, const Shape& shape, DType dtype) {
  return [text = purpose_of(prefix, name), shape, dtype](Device device) {
    const AllocationPurpose purpose(text, {}, MemoryNeed::kOfModel);
    return Tensor::empty(shape, dtype, device);
  };
}

}  // namespace

InitScope InitScope::skip_init(Device device, DType dtype) {
  InitScope scope(0, dtype, device);
  scope.is_skipped_ = true;
  return scope;
}

InitScope InitScope::deferred() const {
  InitScope scope = *this;
  scope.is_deferred_ = true;
  return scope;
}

InitScope InitScope::child(std::string_view name) const {
  InitScope scope = *this;
  scope.prefix_.append(name).push_back('.');
  return scope;
}

std::uint64_t InitScope::key(std::string_view name) const { return mix64(seed_, hash(prefix_ + std::string(name))); }

InitialValues InitScope::give(const Shape& shape, InitialValues::Recipe recipe) const {
  return is_deferred_ ? InitialValues(shape, dtype_, device_, std::move(recipe)) : InitialValues(recipe(device_));
}

InitialValues InitScope::normal(std::string_view name, const Shape& shape, double deviation) const {
  if (is_skipped_) return give(shape, leave_unset(prefix_, name, shape, dtype_));
  const auto scale = static_cast<float>(deviation);
  return give(shape, draw(prefix_, name, shape, dtype_, [scale, stream = key(name)](std::uint64_t block) {
                return normal_block(stream, scale, block);
              }));
}

InitialValues InitScope::uniform(std::string_view name, const Shape& shape, double bound) const {
  if (is_skipped_) return give(shape, leave_unset(prefix_, name, shape, dtype_));
  const auto scale = static_cast<float>(bound);
  return give(shape, draw(prefix_, name, shape, dtype_, [scale, stream = key(name)](std::uint64_t block) {
                return uniform_block(stream, scale, block);
              }));
}

InitialValues InitScope::normal(std::string_view name, const Slice& slice, double deviation) const {
  require_valid(slice);
  if (is_skipped_) return give(slice.shape(), leave_unset(prefix_, name, slice.shape(), dtype_));
  const auto scale = static_cast<float>(deviation);
  return give(slice.shape(), draw(prefix_, name, slice, dtype_, [scale, stream = key(name)](std::uint64_t block) {
                return normal_block(stream, scale, block);
              }));
}

InitialValues InitScope::uniform(std::string_view name, const Slice& slice, double bound) const {
  require_valid(slice);
  if (is_skipped_) return give(slice.shape(), leave_unset(prefix_, name, slice.shape(), dtype_));
  const auto scale = static_cast<float>(bound);
  return give(slice.shape(), draw(prefix_, name, slice, dtype_, [scale, stream = key(name)](std::uint64_t block) {
                return uniform_block(stream, scale, block);
              }));
}

InitialValues InitScope::constant(const Shape& shape, double value) const {
  if (is_skipped_) return give(shape, leave_unset(prefix_, "", shape, dtype_));
  const std::array<float, 4> four = [value] {
    std::array<float, 4> values{};
    values.fill(static_cast<float>(value));
    return values;
  }();
  return give(shape, draw(prefix_, "", shape, dtype_, [four](std::uint64_t) { return four; }));
}

}  // namespace lockstep::nn
