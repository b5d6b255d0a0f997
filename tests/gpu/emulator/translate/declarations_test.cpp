#include "emulator/translate/declarations.hpp"

#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

using lockstep::translate::Declarations;
using lockstep::translate::KernelName;
using lockstep::translate::reject_unsupported;
using lockstep::translate::scan_declarations;

TEST_CASE("kernels are found with their templates and parameters", "[emulator]") {
  const Declarations found = scan_declarations(R"(
    __global__ void plain(float* x, std::map<int, int> y) {}
    template <typename T, int kTile = 4, int... kMore>
    __global__ __launch_bounds__(256, 2) static void tiled(T* x) {}
    extern "C" __global__ void __launch_bounds__(128) none();
    // __global__ void comment() {}
    template __global__ void tiled<float, 4>(float*);
  )");
  REQUIRE(found.kernels.size() == 3);
  CHECK(found.kernels.at("plain").parameters == 2);
  CHECK_FALSE(found.kernels.at("plain").is_template);
  CHECK(found.kernels.at("plain").is_defined);
  CHECK(found.kernels.at("tiled").is_template);
  CHECK(found.kernels.at("tiled").needed_arguments == 2);
  CHECK(found.kernels.at("tiled").has_pack);
  CHECK_FALSE(found.kernels.at("tiled").is_overloaded);
  CHECK(found.kernels.at("none").parameters == 0);
  CHECK_FALSE(found.kernels.at("none").is_defined);
}

TEST_CASE("a prototype and its definition are one kernel, two definitions are overloads", "[emulator]") {
  CHECK_FALSE(scan_declarations("__global__ void k(int*); __global__ void k(int* x) {}").kernels.at("k").is_overloaded);
  CHECK(scan_declarations("__global__ void k(int* x) {} __global__ void k(float* x) {}").kernels.at("k").is_overloaded);
  CHECK(scan_declarations("__global__ void k(int* x); __global__ void k(int* x, int);").kernels.at("k").is_overloaded);
  CHECK(scan_declarations("__global__ void k(int* x, int y = 3) {}").kernels.at("k").has_defaults);
}

TEST_CASE("main is one at namespace scope", "[emulator]") {
  CHECK(scan_declarations("int main() {}").has_main);
  CHECK(scan_declarations("auto main(int argc, char** argv) -> int {}").has_main);
  CHECK_FALSE(scan_declarations("void f() { main(); }").has_main);
  CHECK_FALSE(scan_declarations("// int main() {}").has_main);
}

TEST_CASE("what the emulator lacks is refused with its place and what to do instead", "[emulator]") {
  struct Case {
    const char* source;
    const char* message;
  };
  for (const Case& wrong :
       {Case{"#include <cuda/std/span>",
             "k.cu:1:10: error: the emulator has no such part of libcu++ (<cuda/std/span>)"},
        Case{"#include <cub/device/device_reduce.cuh>", "no such part of CUB"},
        Case{"#include <thrust/sort.h>", "no Thrust"}, Case{"#include <mma.h>", "use mma_m16n8k16_bf16"},
        Case{"int x;\n  asm volatile(\"mov\");", "k.cu:2:3: error: the emulator has no inline PTX (asm)"},
        Case{"cudaTextureObject_t t;", "no textures"}, Case{"cg::this_cluster();", "no thread block clusters"},
        Case{"cudaGraphAddKernelNode(&n, g, 0, 0, &p);", "no graphs made of nodes"},
        Case{"#ifndef __CUDACC__\nasm(\"\");\n#endif", "k.cu:2:1: error"},
        Case{"#ifdef __CUDACC__\n#else\nasm(\"\");\n#endif", "k.cu:3:1: error"},
        Case{"#ifdef __CUDACC__\n#elif X\n#else\nasm(\"\");\n#endif", "k.cu:4:1: error"},
        Case{"#if X\n#elif defined(__CUDACC__)\n#else\nasm(\"\");\n#endif", "k.cu:4:1: error"},
        Case{"#if !(defined(__CUDACC__))\nasm(\"\");\n#endif", "k.cu:2:1: error"}}) {
    CHECK_THROWS_WITH(reject_unsupported(wrong.source, "k.cu"), ContainsSubstring(wrong.message));
  }
}

TEST_CASE("the parts of libraries that the emulator has are not refused", "[emulator]") {
  for (const std::string header :
       {"cooperative_groups.h", "cooperative_groups/reduce.h", "cub/cub.cuh", "cuda/pipeline"}) {
    CHECK_NOTHROW(reject_unsupported("#include <" + header + ">", "k.cu"));
  }
}

TEST_CASE("what only nvcc sees, and words in comments and strings, are not refused", "[emulator]") {
  CHECK_NOTHROW(reject_unsupported("#ifdef __CUDACC__\nasm(\"\");\n#include <cub/cub.cuh>\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported(
      "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n#if 1\nasm(\"\");\n#endif\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported("#ifndef __CUDACC__\n#else\nasm(\"\");\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported("#ifndef __CUDACC__\n#elif X\n#else\nasm(\"\");\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported("#if X\n#elif defined(__CUDACC__)\nasm(\"\");\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported("#if defined(__CUDACC__) && !defined(X)\nasm(\"\");\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported("#if __CUDA_ARCH__ != 700\nasm(\"\");\n#endif", "k.cu"));
  CHECK_NOTHROW(reject_unsupported("// asm\nconst char* s = \"asm cub/\"; int asm_count;", "k.cu"));
}
