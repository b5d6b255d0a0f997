#include "nn/init.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "base/affinity.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "nn/init_blocks.hpp"

namespace lockstep::nn {
namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo, 1991): names become keys the same way in every build.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char character : text) value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return value;
}

// Drawing takes some 30 ns a value, starting a thread some tens of microseconds.
constexpr std::size_t kLeastBlocksPerThread = std::size_t{1} << 14;

// Runs work(begin, end) for parts of [0, blocks), on all processors that this thread may use. These are threads of
// their own: a rank that computes with one thread draws while the others of its host wait for what it draws.
void in_parallel(std::size_t blocks, const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t most = std::max<std::size_t>(1, blocks / kLeastBlocksPerThread);
  const std::size_t parts = std::clamp<std::size_t>(allowed_cpus().size(), 1, most);
  std::vector<std::jthread> threads;
  for (std::size_t part = 1; part < parts; ++part) {
    threads.emplace_back(std::cref(work), part * blocks / parts, (part + 1) * blocks / parts);
  }
  work(0, blocks / parts);
}

// Element i is number i % 4 of the four that generate(block i / 4) returns.
template <typename T, typename Generate>
void fill_blocks(std::span<T> values, const Generate& generate) {
  in_parallel((values.size() + 3) / 4, [&](std::size_t first, std::size_t end) {
    for (std::size_t block = first; block < end; ++block) {
      const std::array<float, 4> four = generate(block);
      const std::size_t begin = block * 4, count = std::min<std::size_t>(4, values.size() - begin);
      for (std::size_t i = 0; i < count; ++i) values[begin + i] = static_cast<T>(four[i]);
    }
  });
}

template <typename Generate>
Tensor generate_tensor(const Shape& shape, DType dtype, Device device, const Generate& generate) {
  Tensor tensor = Tensor::empty(shape, dtype);
  if (dtype == DType::kFloat64) {
    fill_blocks(tensor.span<double>(), generate);
  } else {
    fill_blocks(tensor.span<float>(), generate);
  }
  return tensor.to(device);
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
  return generate_tensor(shape, dtype_, device_, [scale, stream = key(name)](std::uint64_t block) {
    return normal_block(stream, scale, block);
  });
}

Tensor InitScope::uniform(std::string_view name, const Shape& shape, double bound) const {
  if (is_skipped_) return Tensor::empty(shape, dtype_, device_);
  const auto scale = static_cast<float>(bound);
  return generate_tensor(shape, dtype_, device_, [scale, stream = key(name)](std::uint64_t block) {
    return uniform_block(stream, scale, block);
  });
}

Tensor InitScope::constant(const Shape& shape, double value) const {
  if (is_skipped_) return Tensor::empty(shape, dtype_, device_);
  const std::array<float, 4> four = [value] {
    std::array<float, 4> values{};
    values.fill(static_cast<float>(value));
    return values;
  }();
  return generate_tensor(shape, dtype_, device_, [&](std::uint64_t) { return four; });
}

}  // namespace lockstep::nn
