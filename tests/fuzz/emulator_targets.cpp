#include "fuzz/emulator_targets.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "emulator/translate/translate.hpp"
#include "net/bytes.hpp"

namespace lockstep::fuzz {

// A learner's file, in whatever state of being written.
void run_cuda_source(Input input) {
  const std::string source = net::to_text(input);
  const translate::Surroundings surroundings{"fuzz.cu", translate::scan_declarations(source).kernels, {}};
  try {
    const std::string translated = translate::translate_source(source, surroundings);
    finding_unless(std::ranges::count(translated, '\n') == std::ranges::count(source, '\n'), "lines have moved");
  } catch (const FormatError& error) {
    finding_unless(std::string(error.what()).starts_with("fuzz.cu:"), "an error names no place");
  }
}

std::vector<std::vector<std::byte>> cuda_source_seeds() {
  std::vector<std::vector<std::byte>> seeds;
  for (const std::string& text : {
           std::string("__global__ void k(int* x) {}\nvoid f() { k<<<dim3(1, 2), 3, 4 * sizeof(int), s>>>(x); }\n"),
           std::string("template <class T, int N = 2> __global__ void k(T* x);\nk<float><<<a<b<c>>>(), 2>>>(x);\n"),
           std::string("#define RUN(k, ...) \\\n  k<<<1, 2>>>(__VA_ARGS__)\n(*p)<<<1, 2>>>(t[i]);\n"),
           std::string(
               "namespace n { extern __shared__ __align__(16) float s[][4]; }\nvoid f() { extern __shared__ T t[]; }"),
           std::string(
               "// k<<<\n/* <<< */ \"<<<\" R\"x(<<<)x\" '\\'' 1'000 #\n#ifdef __CUDACC__\nasm(\"\");\n#endif\n"),
       }) {
    const auto bytes = net::as_bytes(text);
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace lockstep::fuzz
