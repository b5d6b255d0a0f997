#include "04_kernels/measure/timer.hpp"

#include <utility>
#include <vector>

#include "base/timing.hpp"
#include "device/cuda_check.hpp"

namespace lockstep::ladders {

namespace {

class Mark {
 public:
  Mark() { cuda_check(cudaEventCreate(&event_), "creating an event"); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { cudaEventDestroy(event_); }

  void record() { cuda_check(cudaEventRecord(event_, nullptr), "recording an event"); }

  [[nodiscard]] double seconds_since(const Mark& start) const {
    float milliseconds = 0;
    cuda_check(cudaEventSynchronize(event_), "waiting for an event");
    cuda_check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading the time between events");
    return double{milliseconds} / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

double median_seconds(const std::function<void(cudaStream_t)>& enqueue, Timing timing) {
  for (int i = 0; i < timing.warm_ups; ++i) enqueue(nullptr);
  std::vector<double> seconds;
  for (int i = 0; i < timing.repetitions; ++i) {
    Mark start, end;
    start.record();
    enqueue(nullptr);
    cuda_check(cudaGetLastError(), "launching a kernel");
    end.record();
    seconds.push_back(end.seconds_since(start));
  }
  return median(seconds);
}

}  // namespace lockstep::ladders
