#include "emulator/translate/translate.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

using lockstep::translate::scan_declarations;
using lockstep::translate::Surroundings;
using lockstep::translate::translate_source;

namespace {

std::string translate(const std::string& source) {
  return translate_source(source, Surroundings{"k.cu", scan_declarations(source).kernels, {}});
}

// The translation of a launch of a kernel that has an address.
std::string function_launch(const std::string& name, const std::string& configuration) {
  return "::lockstep::emulator::launch_function({__FILE__, __LINE__}, \"" + name + "\", " + name + ", " +
         configuration + ")";
}

std::string call_launch(const std::string& name, const std::string& configuration) {
  return "::lockstep::emulator::launch_call({__FILE__, __LINE__}, \"" + name +
         "\", [=](auto... lockstep_arguments) { " + name + "(lockstep_arguments...); }, " + configuration + ")";
}

const std::string kPlain = "__global__ void k(int* x) {}\n";
const std::string kTemplate = "template <class T, int N = 2> __global__ void k(T* x) {}\n";

}  // namespace

TEST_CASE("a launch becomes a call whose arguments stay", "[emulator]") {
  CHECK(translate(kPlain + "k<<<1, 2>>>(x);") == kPlain + function_launch("k", "1, 2") + "(x);");
  CHECK(translate(kPlain + "a::b::k<<<dim3(1, 2), f(3, g[4]), n * sizeof(float), s>>>(x, y);") ==
        kPlain + function_launch("a::b::k", "dim3(1, 2), f(3, g[4]), n * sizeof(float), s") + "(x, y);");
  CHECK(translate(kPlain + "if (a) ::k<<<1, 2>>>(x); else k<<<3, 4>>>(y);") ==
        kPlain + "if (a) " + function_launch("::k", "1, 2") + "(x); else " + function_launch("k", "3, 4") + "(y);");
  CHECK(translate(kPlain + "return k<<<1, 2>>>(x);") == kPlain + "return " + function_launch("k", "1, 2") + "(x);");
}

TEST_CASE("template arguments belong to the kernel's name", "[emulator]") {
  CHECK(translate(kTemplate + "k<float, 4><<<1, 2>>>(x);") ==
        kTemplate + function_launch("k<float, 4>", "1, 2") + "(x);");
  CHECK(translate(kTemplate + "k<std::array<int, (3 > 2)>><<<1, 2>>>(x);") ==
        kTemplate + function_launch("k<std::array<int, (3 > 2)>>", "1, 2") + "(x);");
}

TEST_CASE("a kernel that only a call can choose is called", "[emulator]") {
  CHECK(translate(kTemplate + "k<<<1, 2>>>(x);") == kTemplate + call_launch("k", "1, 2") + "(x);");
  CHECK(translate("unknown<<<1, 2>>>(x);") == call_launch("unknown", "1, 2") + "(x);");
  const std::string overloaded = "__global__ void k(int) {}\n__global__ void k(float) {}\n";
  CHECK(translate(overloaded + "k<<<1, 2>>>(x);") == overloaded + call_launch("k", "1, 2") + "(x);");
  const std::string defaulted = "__global__ void k(int x, int y = 3) {}\n";
  CHECK(translate(defaulted + "k<<<1, 2>>>(x);") == defaulted + call_launch("k", "1, 2") + "(x);");
}

TEST_CASE("an expression that yields a pointer to a kernel may stand before a launch", "[emulator]") {
  for (const std::string callee :
       {"table[i]", "(*pointer)", "(k<float>)", "a.b->kernel", "choose(1, 2)", "f(1).g[2]"}) {
    CHECK(translate(callee + "<<<1, 2>>>(x);") == function_launch(callee, "1, 2") + "(x);");
  }
  CHECK(translate("if (a) (k)<<<1, 2>>>(x);") == "if (a) " + function_launch("(k)", "1, 2") + "(x);");
}

TEST_CASE("templates that end in >>> inside a configuration do not end it", "[emulator]") {
  const std::string configuration = "blocks<a<b<int>>>(n), v<w<x<3>>>::value";
  CHECK(translate(kPlain + "k<<<" + configuration + ">>>(x);") ==
        kPlain + function_launch("k", configuration) + "(x);");
  CHECK(translate(kPlain + "k<<<1, 2>>>(x), k<<<3, 4>>>(y);") ==
        kPlain + function_launch("k", "1, 2") + "(x), " + function_launch("k", "3, 4") + "(y);");
}

TEST_CASE("comments, strings and operators are not launches", "[emulator]") {
  for (const std::string source :
       {"// k<<<1, 2>>>(x)\n", "/* k<<<1, 2>>>(x) */", "s = \"k<<<1, 2>>>(x)\";", "s = R\"(k<<<1, 2>>>(x))\";",
        "operator<<<char>(a, b);", "vector<vector<vector<int>>> v;", "a << b; a <<= c;", "#error it's k <\n"}) {
    CHECK(translate(source) == source);
  }
}

TEST_CASE("lines stay where they are", "[emulator]") {
  const std::string source = kPlain +
                             "k // which\n  <<<\n  dim3(1,\n 2), /* threads\n */ 32\n>>>\n(x,\n y);\n"
                             "__global__ void s() {\n extern __shared__\n  float\n a[];\n a[0] = 1;\n}\n";
  const std::string translated = translate(source);
  const auto line_of = [](const std::string& text, const std::string& what) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(what));
    return std::count(text.begin(), end, '\n');
  };
  CHECK(std::ranges::count(translated, '\n') == std::ranges::count(source, '\n'));
  for (const std::string mark : {"dim3(1,", "32\n", "(x,", " y);", "a[0] = 1"}) {
    CHECK(line_of(translated, mark) == line_of(source, mark));
  }
}

TEST_CASE("a launch in a macro is translated, and a kernel that is its parameter named by its user", "[emulator]") {
  CHECK(translate("#define RUN(kernel, ...) \\\n  kernel<<<1, 2>>>(__VA_ARGS__)\n") ==
        "#define RUN(kernel, ...) \\\n  ::lockstep::emulator::launch_call({__FILE__, __LINE__}, #kernel, "
        "[=](auto... lockstep_arguments) { kernel(lockstep_arguments...); }, 1, 2)(__VA_ARGS__)\n");
  CHECK(translate(kPlain + "CHECK((k<<<1, 2>>>(x)));") == kPlain + "CHECK((" + function_launch("k", "1, 2") + "(x)));");
  CHECK(translate(kPlain + "k<<<CONFIGURATION>>>(x);") == kPlain + function_launch("k", "CONFIGURATION") + "(x);");
}

TEST_CASE("an array of dynamic shared memory becomes a pointer", "[emulator]") {
  const auto inside = [](const std::string& text) { return "void f() { " + text + " }"; };
  const auto pointer = [&](const std::string& type) {
    return inside("auto* s = ::lockstep::emulator::dynamic_shared<" + type + ">();");
  };
  CHECK(translate(inside("extern __shared__ float s[];")) == pointer("float"));
  CHECK(translate(inside("__shared__ extern float s[];")) == pointer("float"));
  CHECK(translate(inside("extern __shared__ __align__(sizeof(T)) unsigned char s[];")) == pointer("unsigned char"));
  CHECK(translate(inside("extern __align__(16) __shared__ a::b<int, 3> s[];")) == pointer("a::b<int, 3>"));
  CHECK(translate(inside("extern __shared__ alignas(16) float4 s[];")) == pointer("float4"));
  CHECK(translate(inside("extern volatile __shared__ int s[];")) == pointer("volatile int"));
  CHECK(translate(inside("extern __shared__ float s[][32][4];")) == pointer("float[32][4]"));
  CHECK(translate(inside("__shared__ float s[32];")) == inside("__shared__ float s[32];"));
  CHECK(translate(inside("__shared__ alignas(16) float s[32];")) == inside("__shared__ __align__(16) float s[32];"));
  CHECK(translate(inside("static __shared__ int s;")) == inside(" __shared__ int s;"));
  CHECK(translate("static __constant__ int c[3];") == " __constant__ int c[3];");
}

TEST_CASE("at namespace scope the array is the engine's own pointer", "[emulator]") {
  const std::string object = "extern float* const s __asm__(\"lockstep_emulator_shared_memory\");";
  for (const std::string start : {"", "namespace a::b { ", "extern \"C\" { ", "inline namespace c { void f() {} "}) {
    CHECK(translate(start + "extern __shared__ float s[];") == start + object);
  }
  CHECK(translate("struct A { void f() { extern __shared__ float s[]; } };").find("auto* s") != std::string::npos);
}

TEST_CASE("a kernel's address that becomes a void* says how to call it", "[emulator]") {
  const auto known = [](const std::string& name) {
    return "::lockstep::emulator::known_kernel(\"" + name + "\", " + name + ")";
  };
  CHECK(translate(kPlain + "f((void*)k, 1);") == kPlain + "f((void*)" + known("k") + ", 1);");
  CHECK(translate(kPlain + "p = (const void *)&k;") ==
        kPlain + "p = (const void *)::lockstep::emulator::known_kernel(\"k\", &k);");
  CHECK(translate(kPlain + "f(reinterpret_cast<void*>(k));") ==
        kPlain + "f(reinterpret_cast<void*>(" + known("k") + "));");
  CHECK(translate(kTemplate + "f((void*)a::k<float, 4>, 1);") ==
        kTemplate + "f((void*)" + known("a::k<float, 4>") + ", 1);");
  for (const std::string& other : {kPlain + "f((void*)k2, (void*)k[1], (int*)k);", kTemplate + "f((void*)k, 1);"}) {
    CHECK(translate(other) == other);
  }
}

TEST_CASE("what cannot be translated is refused with its place", "[emulator]") {
  struct Case {
    const char* source;
    const char* message;
  };
  for (const Case& wrong :
       {Case{"\n k<<<1, 2;", "k.cu:2:3: error: this <<< has no >>> with the kernel's arguments"},
        Case{"<<<1, 2>>>(x);", "k.cu:1:1: error: there is no kernel before <<<"},
        Case{"k<<<>>>(x);", "at least two values: <<<blocks, threads per block>>>"},
        Case{"k<<<1, 2, 3, 4, 5>>>(x);", "at most four values"}, Case{"k><<<1, 2>>>(x);", "has no matching <"},
        Case{"void f() { extern __shared__ int x; }", "declared as an array"},
        Case{"void f() { extern __shared__ int x[], y[]; }", "one extern __shared__ array"},
        Case{"extern __shared__ int x[]", "has no ;"}}) {
    CHECK_THROWS_WITH(translate(wrong.source), ContainsSubstring(wrong.message));
  }
}
