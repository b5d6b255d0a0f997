#include "kernels/threads.hpp"

#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels {

int thread_count() noexcept { return thread_limit(); }

}  // namespace lockstep::kernels
