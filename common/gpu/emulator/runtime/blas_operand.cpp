#include "emulator/runtime/blas_operand.hpp"

#include <iostream>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace lockstep::emulator {

Point run_in_stream(const char* name, cublasHandle_t handle, std::initializer_list<Access> accesses,
                    std::function<void()> body) {
  Operation operation;
  operation.name = name;
  for (const Access& each : accesses) {
    if (each.bytes > 0) operation.accesses.push_back(each);
  }
  operation.run = [name, body = std::move(body)] {
    try {
      body();
      return cudaSuccess;
    } catch (const ApiError& error) {
      std::cerr << concat("emulated device: ", name, ": ", error.why, "\n");
      return cudaErrorIllegalAddress;
    }
  };
  return issue(Handles::instance().queue(handle->stream), std::move(operation));
}

template <typename Result>
void run_for_result(const char* name, cublasHandle_t handle, std::initializer_list<Access> accesses,
                    std::function<Result()> body, Result* result) {
  api_require(result != nullptr, cudaErrorInvalidValue, "the result's address is null");
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    const Operand<Result> to = vector_operand(result, 1, 1);
    run_in_stream(name, handle, accesses, [=, body = std::move(body)] { store(to, std::vector<Result>{body()}); });
    return;
  }
  refuse_in_capture(*Handles::instance().queue(handle->stream));
  const auto found = std::make_shared<Result>();
  const Point end = run_in_stream(name, handle, accesses, [found, body = std::move(body)] { *found = body(); });
  Scheduler::instance().wait(end);
  if (end.queue) throw_failure(end.queue->device);
  *result = *found;
}

template void run_for_result(const char*, cublasHandle_t, std::initializer_list<Access>, std::function<int()>, int*);
template void run_for_result(const char*, cublasHandle_t, std::initializer_list<Access>, std::function<float()>,
                             float*);
template void run_for_result(const char*, cublasHandle_t, std::initializer_list<Access>, std::function<double()>,
                             double*);

}  // namespace lockstep::emulator
