#include "kernels/cpu/gemm_onednn.hpp"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels {

namespace {

// Everything a compiled product depends on.
using Key = std::array<std::int64_t, 6>;

template <typename T>
inline constexpr dnnl::memory::data_type kTypeOf =
    std::is_same_v<T, BFloat16> ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;

template <typename In, typename Out>
Key key_of(const Gemm<In, Out>& gemm) {
  const std::int64_t flags = (gemm.a_transpose == Transpose::kYes ? 1 : 0) +
                             (gemm.b_transpose == Transpose::kYes ? 2 : 0) + (gemm.write == Write::kAdd ? 4 : 0) +
                             (gemm.bias != nullptr ? 8 : 0);
  return {gemm.rows, gemm.columns,   gemm.inner,
          flags,     thread_limit(), static_cast<std::int64_t>(sizeof(In) + 8 * sizeof(Out))};
}

template <typename T>
dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, Transpose transpose) {
  const dnnl::memory::dims strides =
      transpose == Transpose::kNo ? dnnl::memory::dims{columns, 1} : dnnl::memory::dims{1, rows};
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
/// narrower products, and on weight gradients of all but the head, the compiled one leads.
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
  const dnnl::status status =
      dnnl::sgemm(a_flipped ? 'T' : 'N', b_flipped ? 'T' : 'N', gemm.rows, gemm.columns, gemm.inner, 1.0F, gemm.a,
                  a_flipped ? gemm.rows : gemm.inner, gemm.b, b_flipped ? gemm.inner : gemm.columns,
                  is_added ? 1.0F : 0.0F, gemm.out, gemm.columns);
  if (status != dnnl::status::success) throw dnnl::error(static_cast<dnnl_status_t>(status), "sgemm");
}

/// A product compiled for one key, with the memory objects it is called with.
class CompiledProduct {
 public:
  template <typename In, typename Out>
  CompiledProduct(const dnnl::engine& engine, const Gemm<In, Out>& gemm) {
    const auto a = matrix<In>(gemm.rows, gemm.inner, gemm.a_transpose);
    const auto b = matrix<In>(gemm.inner, gemm.columns, gemm.b_transpose);
    const auto out = matrix<Out>(gemm.rows, gemm.columns, Transpose::kNo);
    const auto bias = matrix<float>(1, gemm.columns, Transpose::kNo);
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
  void run(dnnl::stream& stream, const Gemm<In, Out>& gemm) {
    set(DNNL_ARG_SRC, gemm.a);
    set(DNNL_ARG_WEIGHTS, gemm.b);
    set(DNNL_ARG_DST, gemm.out);
    if (gemm.bias != nullptr) set(DNNL_ARG_BIAS, gemm.bias);
    primitive_.execute(stream, arguments_);
  }

 private:
  // oneDNN takes inputs and outputs by the same pointer type; it writes only to DNNL_ARG_DST.
  void set(int argument, const void* data) { arguments_.at(argument).set_data_handle(const_cast<void*>(data)); }

  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// One thread's compiled products. A thread's own, because memory objects are not shared between calls under way.
class ProductCache {
 public:
  template <typename In, typename Out>
  void run(const Gemm<In, Out>& gemm) {
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
  static constexpr std::size_t kMaxProducts = 1024;  // a model needs some dozens; text of all lengths must not pile up

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Key, CompiledProduct> products_;
};

template <typename In, typename Out>
void run_cached(const Gemm<In, Out>& gemm) {
  thread_local ProductCache cache;
  try {
    if constexpr (std::is_same_v<In, float>) {
      if (prefers_packing(gemm)) return run_packing(gemm);
    }
    cache.run(gemm);
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

}  // namespace lockstep::kernels
