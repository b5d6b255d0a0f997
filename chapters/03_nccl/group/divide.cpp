#include "03_nccl/group/divide.hpp"

#include "base/environment.hpp"

namespace lockstep::nccl {

namespace plain {
void divide_on(void* values, std::int64_t count, DType dtype, int divisor, CUstream_st* stream);
}
#ifdef LOCKSTEP_HAVE_CHECKED_DIVIDE
namespace checked {
void divide_on(void* values, std::int64_t count, DType dtype, int divisor, CUstream_st* stream);
}
#endif

void divide(void* values, std::int64_t count, DType dtype, int divisor, const Stream& stream) {
  make_current(stream.device());
#ifdef LOCKSTEP_HAVE_CHECKED_DIVIDE
  static const bool is_checked = environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0";
  if (is_checked) return checked::divide_on(values, count, dtype, divisor, stream.handle());
#endif
  plain::divide_on(values, count, dtype, divisor, stream.handle());
}

}  // namespace lockstep::nccl
