#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "emulator/translate/declarations.hpp"
#include "emulator/translate/token_walk.hpp"

namespace lockstep::translate {
namespace {

struct Feature {
  std::string_view start;    // of a word, or of the name in an #include
  std::string_view what;     // the learner's name for the feature
  std::string_view instead;  // the alternative
};

// Headers that the emulator has, among families that it lacks otherwise.
constexpr std::array<std::string_view, 6> kKnownHeaders = {"cub/cub.cuh",
                                                           "cub/block/block_reduce.cuh",
                                                           "cub/block/block_scan.cuh",
                                                           "cub/warp/warp_reduce.cuh",
                                                           "cub/warp/warp_scan.cuh",
                                                           "cuda/pipeline"};

constexpr std::array kHeaders = {
    Feature{"cub/", "such part of CUB",
            "use BlockReduce, BlockScan, WarpReduce or WarpScan of <cub/cub.cuh>, or write it as a kernel"},
    Feature{"thrust/", "Thrust", "write the loop as a kernel and use cudaMalloc and cudaMemcpy"},
    Feature{"cuda/", "such part of libcu++", "use the atomics, fences and barriers of plain CUDA C++"},
    Feature{"mma.h", "nvcuda::wmma", "use mma_m16n8k16_bf16 of device/tensor_core.hpp"},
    Feature{"curand", "cuRAND", "write a counter-based generator such as Philox in the kernel"},
    Feature{"cufft", "cuFFT", "run this program on a GPU"},
    Feature{"cusparse", "cuSPARSE", "run this program on a GPU"},
    Feature{"cusolver", "cuSOLVER", "run this program on a GPU"},
    Feature{"cudnn", "cuDNN", "run this program on a GPU"},
    Feature{"cutlass/", "CUTLASS", "run this program on a GPU"},
    Feature{"cute/", "CuTe", "run this program on a GPU"},
};

constexpr std::string_view kInsteadOfTextures =
    "read a const pointer to global memory by index, and clamp or wrap the index as the texture would";

constexpr std::array kWords = {
    Feature{"asm", "inline PTX", "call a function that does the same in C++"},
    Feature{"__asm__", "inline PTX", "call a function that does the same in C++"},
    Feature{"cudaTextureObject_t", "textures", kInsteadOfTextures},
    Feature{"cudaCreateTextureObject", "textures", kInsteadOfTextures},
    Feature{"cudaBindTexture", "textures", kInsteadOfTextures},
    Feature{"cudaMallocArray", "CUDA arrays", kInsteadOfTextures},
    Feature{"cudaMalloc3DArray", "CUDA arrays", kInsteadOfTextures},
    Feature{"cudaSurfaceObject_t", "surfaces", "write the array in global memory by index"},
    Feature{"__surface__", "surfaces", "write the array in global memory by index"},
    Feature{"cudaGraphAdd", "graphs made of nodes", "capture a stream with cudaStreamBeginCapture instead"},
    Feature{"__cluster_dims__", "thread block clusters", "exchange data between blocks through global memory"},
    Feature{"this_cluster", "thread block clusters", "exchange data between blocks through global memory"},
    Feature{"cudaLaunchCooperativeKernelMultiDevice", "a launch on several devices",
            "launch one kernel on each device and order them by events"},
};

bool starts_one(const Feature& feature, const Token& token) {
  if (token.kind == TokenKind::kHeaderName) {
    const std::string_view name = token.text.substr(1, token.text.size() - 2);
    return name.starts_with(feature.start) && std::ranges::find(kKnownHeaders, name) == kKnownHeaders.end();
  }
  const bool is_family = feature.start == "cudaBindTexture" || feature.start == "cudaGraphAdd";
  return is_family ? token.text.starts_with(feature.start) : token.text == feature.start;
}

bool is_macro_of_nvcc(const Token& token) {
  return token.text == "__CUDACC__" || token.text == "__CUDA_ARCH__" || token.text == "__NVCC__";
}

// True for !NAME, !defined(NAME) and !(defined(NAME, where NAME is the token at `index`.
bool is_negated(const Stream& directive, std::size_t index) {
  while (is_mark(directive, index - 1, "(") || is_word(directive, index - 1, "defined")) --index;
  return is_mark(directive, index - 1, "!");
}

// Finds the parts of a source that only nvcc compiles, from conditions that name its macros.
class Conditions {
 public:
  // Processes a directive's tokens.
  void enter(const Stream& directive) {
    if (directive.size() < 2) return;
    const std::string_view word = directive[1].text;
    if (word.starts_with("if")) {
      open_.push_back({});
      decide(open_.back(), directive);
    } else if (word.starts_with("el") && !open_.empty()) {
      Condition& condition = open_.back();
      if (condition.is_about_nvcc) {
        condition.is_for_nvcc = !condition.was_for_nvcc;  // every later part is for the others
      } else {
        decide(condition, directive);
      }
    } else if (word == "endif" && !open_.empty()) {
      open_.pop_back();
    }
    is_for_nvcc_ = std::ranges::any_of(open_, &Condition::is_for_nvcc);
  }

  [[nodiscard]] bool is_for_nvcc() const { return is_for_nvcc_; }

 private:
  struct Condition {
    bool is_about_nvcc = false;  // a part so far names one of its macros
    bool was_for_nvcc = false;   // the first that does is for nvcc
    bool is_for_nvcc = false;    // this part is
  };
  static void decide(Condition& condition, const Stream& directive) {
    const bool is_if_not_defined = directive[1].text.ends_with("ndef");  // #ifndef, #elifndef
    for (std::size_t i = 2; i < directive.size(); ++i) {
      if (!is_macro_of_nvcc(directive[i])) continue;
      condition.is_about_nvcc = true;
      if (!is_if_not_defined && !is_negated(directive, i)) condition.was_for_nvcc = true;
    }
    condition.is_for_nvcc = condition.was_for_nvcc;
  }
  std::vector<Condition> open_;
  bool is_for_nvcc_ = false;
};

void reject(const Token& token, std::string_view source, std::string_view file) {
  const bool is_header = token.kind == TokenKind::kHeaderName;
  if (!is_header && token.kind != TokenKind::kIdentifier) return;
  const auto refuse = [&](const Feature& feature) {
    if (!starts_one(feature, token)) return;
    fail_at(source, file, token.begin,
            concat("the emulator has no ", feature.what, " (", token.text, "); ", feature.instead,
                   ", or keep it behind #ifdef __CUDACC__, where only nvcc sees it"));
  };
  if (is_header) {
    std::ranges::for_each(kHeaders, refuse);
  } else {
    std::ranges::for_each(kWords, refuse);
  }
}

}  // namespace

void reject_unsupported(std::string_view source, std::string_view file) {
  const std::vector<Token> tokens = split_tokens(source);
  Conditions conditions;
  for (std::size_t i = 0; i < tokens.size();) {
    std::size_t end = i + 1;
    if (tokens[i].directive != 0) {
      while (end < tokens.size() && tokens[end].directive == tokens[i].directive) ++end;
      conditions.enter(
          Stream(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    if (!conditions.is_for_nvcc()) {
      for (std::size_t each = i; each < end; ++each) reject(tokens[each], source, file);
    }
    i = end;
  }
}

}  // namespace lockstep::translate
