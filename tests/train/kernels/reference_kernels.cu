// Random inputs, and the operations that work on one element, one row or one product at a time.
#include "kernels/reference_kernels.cuh"

namespace lockstep::kernels::testing::reference {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kTile = 16;

/// Steele, Lea and Flood 2014, the finalizer of SplitMix64.
__device__ std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

__device__ void store(const View& to, std::int64_t i, double value) {
  if (to.dtype == DType::kBFloat16) {
    const unsigned int bits = __float_as_uint(static_cast<float>(value));  // to the nearest, ties to even
    static_cast<unsigned short*>(to.data)[i] =
        static_cast<unsigned short>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
  } else {
    static_cast<float*>(to.data)[i] = static_cast<float>(value);
  }
}

struct RandomValues {
  View to;
  std::uint64_t key;
  double scale;
  __device__ void operator()(std::int64_t i) const {
    const std::uint64_t bits = mix(mix(key) + static_cast<std::uint64_t>(i));
    store(to, i, (static_cast<double>(bits >> 11) * 0x1p-52 - 1.0) * scale);
  }
};

struct RandomIds {
  std::int32_t* to;
  std::uint64_t key, bound;
  __device__ void operator()(std::int64_t i) const {
    to[i] = static_cast<std::int32_t>(mix(mix(key) + static_cast<std::uint64_t>(i)) % bound);
  }
};

struct Copy {
  View to;
  Elements from;
  __device__ void operator()(std::int64_t i) const { store(to, i, from.at(i)); }
};

/// Element (r, k) of a factor.
struct FactorElements {
  Elements elements;
  bool is_transposed;
  __device__ double at(std::int64_t r, std::int64_t k) const {
    return is_transposed ? elements.at(k * elements.columns + r) : elements.at(r * elements.columns + k);
  }
};

/// The one kernel that shares memory: at [8192, 768] by [768, 50304] a thread alone would read 5 TB.
/// Launch: a block of kTile x kTile threads for each kTile x kTile elements.
__global__ void compare_product(unsigned long long* worst, Elements result, FactorElements a, FactorElements b,
                                std::int64_t inner, Elements bias, Elements before, double floor) {
  __shared__ double a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t row = std::int64_t{blockIdx.y} * kTile + y, column = std::int64_t{blockIdx.x} * kTile + x;
  double sum = 0.0;
  for (std::int64_t k = 0; k < inner; k += kTile) {
    a_tile[y][x] = row < result.rows && k + x < inner ? a.at(row, k + x) : 0.0;
    b_tile[y][x] = column < result.columns && k + y < inner ? b.at(k + y, column) : 0.0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (row >= result.rows || column >= result.columns) return;
  const std::int64_t i = row * result.columns + column;
  note_error(worst, error_of(result.at(i), sum + bias.at(column) + before.at(i), floor));
}

struct ColumnSum {
  Elements values;
  __device__ double operator()(std::int64_t c) const {
    double sum = 0.0;
    for (std::int64_t r = 0; r < values.rows; ++r) sum += values.at(r * values.columns + c);
    return sum;
  }
};

struct Gelu {
  Elements input, gradient;
  __device__ double operator()(std::int64_t i) const {
    constexpr double kFactor = 0.79788456080286535588, kCube = 0.044715;  // sqrt(2 / pi)
    const double x = input.at(i), t = tanh(kFactor * (x + kCube * x * x * x));
    if (gradient.data == nullptr) return 0.5 * x * (1.0 + t);
    return gradient.at(i) * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * kFactor * (1.0 + 3.0 * kCube * x * x));
  }
};

/// The values that normalize each row, and the two means of its gradient.
struct RowMoments {
  double mean, reciprocal_deviation, gradient_mean, gradient_projection;
};

struct LayerNormElements {
  Elements input, gain, bias, out_gradient;
  double epsilon;
  RowMoments* moments;

  __device__ double normalized(std::int64_t i) const {
    const RowMoments& row = moments[i / input.columns];
    return (input.at(i) - row.mean) * row.reciprocal_deviation;
  }
  __device__ double gradient_of_normalized(std::int64_t i) const {
    return out_gradient.at(i) * gain.at(i % input.columns);
  }
};

struct FindRowMoments {
  LayerNormElements layer;
  __device__ void operator()(std::int64_t r) const {
    const std::int64_t begin = r * layer.input.columns, end = begin + layer.input.columns;
    const auto channels = static_cast<double>(layer.input.columns);
    RowMoments& row = layer.moments[r];
    double sum = 0.0, squares = 0.0, gradients = 0.0, projections = 0.0;
    for (std::int64_t i = begin; i < end; ++i) sum += layer.input.at(i);
    row.mean = sum / channels;
    for (std::int64_t i = begin; i < end; ++i)
      squares += (layer.input.at(i) - row.mean) * (layer.input.at(i) - row.mean);
    row.reciprocal_deviation = 1.0 / sqrt(squares / channels + layer.epsilon);
    for (std::int64_t i = begin; i < end; ++i) {
      gradients += layer.gradient_of_normalized(i);
      projections += layer.gradient_of_normalized(i) * layer.normalized(i);
    }
    row.gradient_mean = gradients / channels;
    row.gradient_projection = projections / channels;
  }
};

struct NormalizedOut {
  LayerNormElements layer;
  __device__ double operator()(std::int64_t i) const {
    return layer.normalized(i) * layer.gain.at(i % layer.input.columns) + layer.bias.at(i % layer.input.columns);
  }
};

struct NormalizedInputGradient {
  LayerNormElements layer;
  __device__ double operator()(std::int64_t i) const {
    const RowMoments& row = layer.moments[i / layer.input.columns];
    return (layer.gradient_of_normalized(i) - row.gradient_mean - layer.normalized(i) * row.gradient_projection) *
           row.reciprocal_deviation;
  }
};

struct GainGradient {
  LayerNormElements layer;
  __device__ double operator()(std::int64_t c) const {
    double sum = 0.0;
    for (std::int64_t i = c; i < layer.input.rows * layer.input.columns; i += layer.input.columns) {
      sum += layer.out_gradient.at(i) * layer.normalized(i);
    }
    return sum;
  }
};

}  // namespace

void fill_random(const View& values, std::uint64_t key, double scale) {
  run(RandomValues{values, key, scale}, values.rows * values.columns);
}

void fill_random_ids(const View& ids, std::int64_t bound, std::uint64_t key) {
  run(RandomIds{static_cast<std::int32_t*>(ids.data), key, static_cast<std::uint64_t>(bound)}, ids.rows * ids.columns);
}

void copy(const View& to, const View& from) { run(Copy{to, Elements(from)}, to.rows * to.columns); }

double product_error(const View& result, const Factor& a, const Factor& b, const View& bias, const View& before,
                     double floor) {
  const Memory<unsigned long long> worst(1);
  const auto tiles = [](std::int64_t count) { return static_cast<unsigned int>((count + kTile - 1) / kTile); };
  const std::int64_t inner = a.is_transposed ? a.matrix.rows : a.matrix.columns;
  cuda_check(device::launch(
      compare_product, dim3(tiles(result.columns), tiles(result.rows)), dim3(kTile, kTile), 0, nullptr, worst.data(),
      Elements(result), FactorElements{Elements(a.matrix), a.is_transposed},
      FactorElements{Elements(b.matrix), b.is_transposed}, inner, Elements(bias), Elements(before), floor));
  return read_error(worst);
}

double column_sum_error(const View& result, const View& values, double floor) {
  return worst_error(result, ColumnSum{Elements(values)}, floor);
}

double gelu_error(const View& result, const View& input, const View& gradient, double floor) {
  return worst_error(result, Gelu{Elements(input), Elements(gradient)}, floor);
}

LayerNormErrors layer_norm_errors(const LayerNorm& layer, double floor, double sum_floor) {
  const Memory<RowMoments> moments(layer.input.rows);
  const LayerNormElements elements{Elements(layer.input),        Elements(layer.gain), Elements(layer.bias),
                                   Elements(layer.out_gradient), layer.epsilon,        moments.data()};
  run(FindRowMoments{elements}, layer.input.rows);
  return {worst_error(layer.out, NormalizedOut{elements}, floor),
          worst_error(layer.input_gradient, NormalizedInputGradient{elements}, floor),
          worst_error(layer.gain_gradient, GainGradient{elements}, sum_floor),
          worst_error(layer.bias_gradient, ColumnSum{elements.out_gradient}, sum_floor)};
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::testing::reference
