#include "kernels/cpu/gemm_onednn.hpp"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "kernels/cpu/packing_room.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/signal_shield.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels {

namespace {

// Everything a compiled product depends on.
using Key = std::array<std::int64_t, 8>;

template <typename T>
inline constexpr dnnl::memory::data_type kTypeOf =
    std::is_same_v<T, BFloat16> ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;

/// A product, possibly a piece of a larger one: then rows of operands are further apart in memory than they are long.
template <typename In, typename Out>
struct Piece : Gemm<In, Out> {
  std::int64_t a_stride;  ///< Elements from one stored row of `a` to the next.
  std::int64_t b_stride;  ///< The same for `b`.

  explicit Piece(const Gemm<In, Out>& gemm)
      : Gemm<In, Out>(gemm),
        a_stride(gemm.a_transpose == Transpose::kYes ? gemm.rows : gemm.inner),
        b_stride(gemm.b_transpose == Transpose::kYes ? gemm.inner : gemm.columns) {}
};

template <typename In, typename Out>
Key key_of(const Piece<In, Out>& gemm) {
  const std::int64_t flags = (gemm.a_transpose == Transpose::kYes ? 1 : 0) +
                             (gemm.b_transpose == Transpose::kYes ? 2 : 0) + (gemm.write == Write::kAdd ? 4 : 0) +
                             (gemm.bias != nullptr ? 8 : 0);
  return {gemm.rows,      gemm.columns,  gemm.inner,    flags,
          thread_limit(), gemm.a_stride, gemm.b_stride, static_cast<std::int64_t>(sizeof(In) + 8 * sizeof(Out))};
}

template <typename T>
dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, Transpose transpose, std::int64_t stride) {
  const dnnl::memory::dims strides =
      transpose == Transpose::kNo ? dnnl::memory::dims{stride, 1} : dnnl::memory::dims{1, stride};
  return {{rows, columns}, kTypeOf<T>, strides};
}

// oneDNN 3 (Debian 13) describes a primitive in one step, oneDNN 2 (Debian 12) in two.
template <typename... Operands>
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                      const Operands&... operands) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, operands..., attributes};
#else
  return {dnnl::matmul::desc(operands...), attributes, engine};
#endif
}

/// Whether oneDNN's packing product is faster than its compiled one. Measured with oneDNN 2.6 on AVX-512, one thread:
/// 134-161 against 90-151 GFLOP/s on the products of a 50257-wide head, 160-167 against 142-152 on wide layers; on
/// narrower products, and on weight gradients except the head's, the compiled one is faster.
bool prefers_packing(const Gemm<float>& gemm) {
  constexpr std::int64_t kHead = 8192, kWideLayer = 1024, kDeep = 512;
  if (gemm.a_transpose == Transpose::kYes) return gemm.rows >= 4 * kHead && gemm.bias == nullptr;
  if (gemm.columns >= kHead || gemm.inner >= kHead) return true;
  return gemm.columns >= kWideLayer && gemm.inner >= kDeep && gemm.inner <= kWideLayer && gemm.rows >= kWideLayer;
}

void run_packing(const Gemm<float>& gemm) {
  if (gemm.bias != nullptr) {  // the product is added to it
    parallel_blocks(gemm.rows, 16, gemm.rows * gemm.columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        std::copy_n(gemm.bias, gemm.columns, gemm.out + row * gemm.columns);
    });
  }
  const bool is_added = gemm.bias != nullptr || gemm.write == Write::kAdd;
  const bool a_flipped = gemm.a_transpose == Transpose::kYes, b_flipped = gemm.b_transpose == Transpose::kYes;
  const PackingRoom room;
  const SignalShield shield;
  const dnnl::status status =
      dnnl::sgemm(a_flipped ? 'T' : 'N', b_flipped ? 'T' : 'N', gemm.rows, gemm.columns, gemm.inner, 1.0F, gemm.a,
                  a_flipped ? gemm.rows : gemm.inner, gemm.b, b_flipped ? gemm.inner : gemm.columns,
                  is_added ? 1.0F : 0.0F, gemm.out, gemm.columns);
  if (status != dnnl::status::success) throw dnnl::error(static_cast<dnnl_status_t>(status), "sgemm");
}

/// A product compiled for one key, and the memory objects of its calls.
class CompiledProduct {
 public:
  template <typename In, typename Out>
  CompiledProduct(const dnnl::engine& engine, const Piece<In, Out>& gemm) {
    const auto a = matrix<In>(gemm.rows, gemm.inner, gemm.a_transpose, gemm.a_stride);
    const auto b = matrix<In>(gemm.inner, gemm.columns, gemm.b_transpose, gemm.b_stride);
    const auto out = matrix<Out>(gemm.rows, gemm.columns, Transpose::kNo, gemm.columns);
    const auto bias = matrix<float>(1, gemm.columns, Transpose::kNo, gemm.columns);
    dnnl::post_ops post_ops;
    if (gemm.write == Write::kAdd) post_ops.append_sum(1.0F);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(post_ops);
    primitive_ = dnnl::matmul(gemm.bias != nullptr ? describe(engine, attributes, a, b, bias, out)
                                                   : describe(engine, attributes, a, b, out));
    arguments_ = {{DNNL_ARG_SRC, dnnl::memory(a, engine, nullptr)},
                  {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine, nullptr)},
                  {DNNL_ARG_DST, dnnl::memory(out, engine, nullptr)}};
    if (gemm.bias != nullptr) arguments_.emplace(DNNL_ARG_BIAS, dnnl::memory(bias, engine, nullptr));
  }

  template <typename In, typename Out>
  void run(dnnl::stream& stream, const Piece<In, Out>& gemm) {
    set(DNNL_ARG_SRC, gemm.a);
    set(DNNL_ARG_WEIGHTS, gemm.b);
    set(DNNL_ARG_DST, gemm.out);
    if (gemm.bias != nullptr) set(DNNL_ARG_BIAS, gemm.bias);
    const PackingRoom room;
    const SignalShield shield;
    primitive_.execute(stream, arguments_);
  }

 private:
  // oneDNN takes inputs and outputs by the same pointer type, but writes only to DNNL_ARG_DST.
  void set(int argument, const void* data) { arguments_.at(argument).set_data_handle(const_cast<void*>(data)); }

  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// One thread's compiled products. Per thread, because concurrent calls must not share memory objects.
class ProductCache {
 public:
  template <typename In, typename Out>
  void run(const Piece<In, Out>& gemm) {
    const Key key = key_of(gemm);
    auto found = products_.find(key);
    if (found == products_.end()) {
      if (products_.size() >= kMaxProducts) products_.clear();
      found = products_.emplace(key, CompiledProduct(engine_, gemm)).first;
    }
    found->second.run(stream_, gemm);
    stream_.wait();
  }

 private:
  static constexpr std::size_t kMaxProducts = 1024;  // a model needs some dozens; limited because text lengths vary

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Key, CompiledProduct> products_;
};

ProductCache& product_cache() {
  thread_local ProductCache cache;
  return cache;
}

// bfloat16 products with a side as long as a vocabulary are faster in pieces, whose operands stay in the caches.
// Measured with oneDNN 2.6, one thread, V = 50257, C = 512, 1280 rows: 440 against 299 GFLOP/s for the gradient of the
// table, 460 against 370 for that of the hidden state; scores gain nothing.
constexpr std::int64_t kPiece = 4096;

/// The gradient of a table: rows of the result, piece by piece.
template <typename Out>
void run_rows_in_pieces(const Gemm<BFloat16, Out>& gemm) {
  for (std::int64_t first = 0; first < gemm.rows; first += kPiece) {
    Piece<BFloat16, Out> piece(gemm);
    piece.rows = std::min(kPiece, gemm.rows - first);
    piece.a += first;
    piece.out += first * gemm.columns;
    product_cache().run(piece);
  }
}

/// The gradient of a hidden state: sums piece by piece over the vocabulary, added in float32.
void run_terms_in_pieces(const Gemm<BFloat16, float>& gemm) {
  for (std::int64_t first = 0; first < gemm.inner; first += kPiece) {
    Piece<BFloat16, float> piece(gemm);
    piece.inner = std::min(kPiece, gemm.inner - first);
    piece.a += first;
    piece.b += gemm.b_transpose == Transpose::kYes ? first : first * gemm.columns;
    if (first > 0) {
      piece.write = Write::kAdd;
      piece.bias = nullptr;
    }
    product_cache().run(piece);
  }
}

void run_terms_in_pieces(const Gemm<BFloat16>& gemm) {
  const std::int64_t count = gemm.rows * gemm.columns;
  const Tensor sums = Tensor::empty({count});
  float* const wide = data_of<float>(sums);
  run_terms_in_pieces(Gemm<BFloat16, float>{.out = wide,
                                            .a = gemm.a,
                                            .a_transpose = gemm.a_transpose,
                                            .b = gemm.b,
                                            .b_transpose = gemm.b_transpose,
                                            .rows = gemm.rows,
                                            .columns = gemm.columns,
                                            .inner = gemm.inner,
                                            .bias = gemm.bias});
  parallel_blocks(count, 2 * kPiece, count, [&](std::int64_t begin, std::int64_t end) {
    for_each_vector<float>(end - begin, [&, from = wide + begin, to = gemm.out + begin](std::int64_t i, auto lanes) {
      const Vector<float> value = load(from + i, lanes);
      store(to + i, gemm.write == Write::kAdd ? load(to + i, lanes) + value : value, lanes);
    });
  });
}

template <typename In, typename Out>
void run_cached(const Gemm<In, Out>& gemm) {
  try {
    if constexpr (std::is_same_v<In, float>) {
      if (prefers_packing(gemm)) return run_packing(gemm);
    } else {
      const bool is_flipped = gemm.a_transpose == Transpose::kYes;
      if (is_flipped && gemm.rows >= 2 * kPiece) return run_rows_in_pieces(gemm);
      if (!is_flipped && gemm.inner >= 2 * kPiece) return run_terms_in_pieces(gemm);
    }
    product_cache().run(Piece<In, Out>(gemm));
  } catch (const dnnl::error& error) {
    throw Error(concat("oneDNN failed on a matrix product [", gemm.rows, ", ", gemm.inner, "] x [", gemm.inner, ", ",
                       gemm.columns, "]: ", error.what()));
  }
}

}  // namespace

void run_on_onednn(const Gemm<float>& gemm) { run_cached(gemm); }
void run_on_onednn(const Gemm<BFloat16>& gemm) { run_cached(gemm); }
void run_on_onednn(const Gemm<BFloat16, float>& gemm) { run_cached(gemm); }

bool onednn_multiplies_bfloat16() noexcept {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (isa & kNeeded) == kNeeded;  // later instruction sets contain earlier ones
}

std::string onednn_version() {
  const dnnl::version_t* const version = dnnl::version();
  return concat("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

}  // namespace lockstep::kernels
