#include "nn/init_fill.hpp"

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

#include "base/affinity.hpp"

namespace lockstep::nn {
namespace {

// Drawing takes about 30 ns a value, starting a thread some tens of microseconds.
constexpr std::size_t kLeastBlocksPerThread = std::size_t{1} << 14;

// Runs work(begin, end) for parts of [0, blocks) on all processors that this thread may use. It starts its own threads:
// a rank that computes with one thread draws while the host's other ranks wait for its values.
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
template <typename T>
void fill_blocks(std::span<T> values, const BlockGenerator& generate) {
  in_parallel((values.size() + 3) / 4, [&](std::size_t first, std::size_t end) {
    for (std::size_t block = first; block < end; ++block) {
      const std::array<float, 4> four = generate(block);
      const std::size_t begin = block * 4, count = std::min<std::size_t>(4, values.size() - begin);
      for (std::size_t i = 0; i < count; ++i) values[begin + i] = static_cast<T>(four[i]);
    }
  });
}

template <typename T>
void fill_run(std::span<T> values, std::uint64_t first, const BlockGenerator& generate) {
  for (std::size_t done = 0; done < values.size();) {
    const std::uint64_t element = first + done;
    const std::array<float, 4> four = generate(element / 4);
    const std::size_t skipped = element % 4, count = std::min(4 - skipped, values.size() - done);
    for (std::size_t i = 0; i < count; ++i) values[done + i] = static_cast<T>(four[skipped + i]);
    done += count;
  }
}

template <typename T>
void fill_runs(const Tensor& tensor, const Slice& slice, const BlockGenerator& generate) {
  std::span<T> rest = tensor.span<T>();
  slice.for_each_run([&](Range run) {
    const auto count = static_cast<std::size_t>(run.count());
    fill_run(rest.first(count), static_cast<std::uint64_t>(run.begin), generate);
    rest = rest.subspan(count);
  });
}

}  // namespace

Tensor generate(const Shape& shape, DType dtype, Device device, const BlockGenerator& block) {
  Tensor tensor = Tensor::empty(shape, dtype);
  if (dtype == DType::kFloat64)
    fill_blocks(tensor.span<double>(), block);
  else
    fill_blocks(tensor.span<float>(), block);
  return tensor.to(device);
}

Tensor generate(const Slice& slice, DType dtype, Device device, const BlockGenerator& block) {
  Tensor tensor = Tensor::empty(slice.shape(), dtype);
  if (dtype == DType::kFloat64)
    fill_runs<double>(tensor, slice, block);
  else
    fill_runs<float>(tensor, slice, block);
  return tensor.to(device);
}

}  // namespace lockstep::nn
