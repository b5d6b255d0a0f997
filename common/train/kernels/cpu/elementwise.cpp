#include <cstring>

#include "base/float16.hpp"
#include "kernels/cpu/map.hpp"
#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels::cpu {

namespace {

/// out[i] = conversion(input[i]), for types that vectors do not load.
template <typename To, typename From, typename Conversion>
void convert(const Array& out, const ConstArray& input, const Conversion& conversion) {
  map_blocks(out.count(), [=, to = out.as<To>(), from = input.as<From>()](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = conversion(from[i]);
  });
}

template <typename To, typename From>
void convert_vectors(const Array& out, const ConstArray& input) {
  map_blocks(out.count(), [to = out.as<To>(), from = input.as<From>()](std::int64_t begin, std::int64_t end) {
    for_each_vector<float>(end - begin, [=](std::int64_t offset, auto lanes) {
      store(to + begin + offset, load(from + begin + offset, lanes), lanes);
    });
  });
}

}  // namespace

void fill(Array out, double value, Context) {
  on_wide_type(out, [&]<typename T>() {
    map_blocks(out.count(), [to = out.as<T>(), element = static_cast<T>(value)](std::int64_t begin, std::int64_t end) {
      std::fill(to + begin, to + end, element);
    });
  });
}

void copy(Array out, ConstArray input, Context) {
  if (out.data == input.data) return;
  constexpr std::int64_t kBlockBytes = 1 << 16;
  const auto bytes = static_cast<std::int64_t>(out.bytes());
  parallel_blocks(bytes, kBlockBytes, bytes / 4,
                  [to = out.as<std::byte>(), from = input.as<std::byte>()](std::int64_t begin, std::int64_t end) {
                    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
                  });
}

// float16 is for files, and for inspecting a device's results.
void cast(Array out, ConstArray input, Context) {
  if (out.dtype == DType::kFloat16) return convert<Float16, float>(out, input, [](float x) { return to_float16(x); });
  if (input.dtype == DType::kFloat16) return convert<float, Float16>(out, input, [](Float16 x) { return to_float(x); });
  if (out.dtype == DType::kBFloat16) return convert_vectors<BFloat16, float>(out, input);
  convert_vectors<float, BFloat16>(out, input);
}

void add(Array out, ConstArray a, ConstArray b, Context) {
  map(out, Write::kOverwrite, {a, b}, []<typename T>(Vector<T> x, Vector<T> y) { return x + y; });
}

void add_scaled(Array out, double factor, ConstArray input, Context) {
  map(out, Write::kOverwrite, {out, input},
      [=]<typename T>(Vector<T> sum, Vector<T> x) { return sum + static_cast<T>(factor) * x; });
}

void scale(Array out, double factor, Context) {
  map(out, Write::kOverwrite, {out}, [=]<typename T>(Vector<T> x) { return x * static_cast<T>(factor); });
}

void add_bias(Array out, ConstArray input, ConstArray bias, Context) {
  on_wide_type(out, [&]<typename T>() {
    const std::int64_t columns = out.columns;
    T* const to = out.as<T>();
    const T *const from = input.as<T>(), *const added = bias.as<T>();
    parallel_blocks(out.rows, 16, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
#pragma GCC ivdep  // an output may alias an input element by element
        for (std::int64_t c = 0; c < columns; ++c) to[row * columns + c] = from[row * columns + c] + added[c];
      }
    });
  });
}

// The comparisons are this way round so that NaN stays NaN.
void relu_forward(Array out, ConstArray input, Context) {
  map(out, Write::kOverwrite, {input}, []<typename T>(Vector<T> x) { return x <= T{0} ? Vector<T>{} : x; });
}

void relu_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray out, Context) {
  map(input_gradient, write, {out_gradient, out},
      []<typename T>(Vector<T> dy, Vector<T> y) { return y <= T{0} ? Vector<T>{} : dy; });
}

void exp_forward(Array out, ConstArray input, Context) {
  map(out, Write::kOverwrite, {input}, []<typename T>(Vector<T> x) { return fast_exp(x); });
}

void silu_forward(Array out, ConstArray input, Context) {
  map(out, Write::kOverwrite, {input}, []<typename T>(Vector<T> x) { return x / (T{1} + fast_exp(-x)); });
}

void silu_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray input, Context) {
  on_storage_type(input, [&]<typename S, typename T>() {
    S* const to = input_gradient.as<S>();
    const S *const dy = out_gradient.as<S>(), *const from = input.as<S>();
    // Without map(), with which g++ fuses another multiplication with an addition: bits would change.
    const auto finish = [=](std::int64_t i, auto lanes) {
      const Vector<T> x = load(from + i, lanes), gate = T{1} / (T{1} + fast_exp(-x));
      const Vector<T> gradient = load(dy + i, lanes) * gate * (T{1} + x * (T{1} - gate));
      store(to + i, write == Write::kAdd ? load(to + i, lanes) + gradient : gradient, lanes);
    };
    map_blocks(input.count(), [&](std::int64_t begin, std::int64_t end) {
      for_each_vector<T>(end - begin, [&](std::int64_t offset, auto lanes) { finish(begin + offset, lanes); });
    });
  });
}

}  // namespace lockstep::kernels::cpu
