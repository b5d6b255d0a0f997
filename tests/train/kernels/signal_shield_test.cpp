// Signals that are handled while matrix products run: none must be handled where oneDNN has borrowed the stack pointer.
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <tuple>

#include "kernels/matmul.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

// The handler's view; it can reach nothing but variables of the process.
std::atomic<int> handled = 0, handled_on_other_threads = 0, handled_off_the_stack = 0;
std::atomic<std::uintptr_t> stack_begin = 0, stack_end = 0;
std::atomic<pid_t> testing_thread = 0;

extern "C" void note_where(int) {
  const char here = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&here);
  ++handled;
  if (::gettid() != testing_thread) {
    ++handled_on_other_threads;
  } else if (address < stack_begin || address >= stack_end) {
    ++handled_off_the_stack;
  }
}

/// While it lives, this process gets SIGALRM 10,000 times a second.
class ManySignals {
 public:
  ManySignals() {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* begin = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    stack_begin = reinterpret_cast<std::uintptr_t>(begin);
    stack_end = stack_begin + size;
    testing_thread = ::gettid();
    handled = handled_on_other_threads = handled_off_the_stack = 0;
    struct sigaction action {};
    action.sa_handler = note_where;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, &before_);
    set_interval(100);
  }
  ~ManySignals() {
    set_interval(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  ManySignals(const ManySignals&) = delete;
  ManySignals& operator=(const ManySignals&) = delete;

 private:
  static void set_interval(int microseconds) {
    const itimerval timer{{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_ {};
};

}  // namespace

TEST_CASE("signals are handled on the caller's own stack, whatever runs", "[kernels]") {
  // Of a layer, of a weight gradient, and of a head: oneDNN's different ways (prefers_packing() in gemm_onednn.cpp).
  // The first one borrows the stack pointer for nearly all of its time with AVX2, on one thread.
  using Sizes = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>;
  const auto [rows, inner, columns, is_flipped] =
      GENERATE(Sizes{256, 256, 512, false}, Sizes{128, 256, 512, true}, Sizes{64, 128, 9000, false});
#ifdef _OPENMP
  const int before = omp_get_max_threads();
  omp_set_num_threads(GENERATE(1, 2));
#endif
  const Tensor a = random_tensor<float>(is_flipped ? Shape{inner, rows} : Shape{rows, inner}, 1);
  const Tensor b = random_tensor<float>({inner, columns}, 2);
  const Tensor out = Tensor::zeros({rows, columns}), expected = Tensor::zeros({rows, columns});
  const auto multiply = [&](const Tensor& into) {
    matmul(into, a, is_flipped ? Transpose::kYes : Transpose::kNo, b, Transpose::kNo, Write::kOverwrite);
  };
  multiply(expected);
  {
    const ManySignals signals;
    for (int product = 0; product < 20'000 && handled < 500; ++product) multiply(out);
  }
#ifdef _OPENMP
  omp_set_num_threads(before);
#endif
  CAPTURE(rows, inner, columns);
  CHECK(handled >= 100);
  CHECK(handled_off_the_stack == 0);
  CHECK(handled_on_other_threads == 0);
  const auto found = out.span<float>(), right = expected.span<float>();
  CHECK(std::equal(found.begin(), found.end(), right.begin()));
}
