// Answers CUDA's calls in a build that has neither CUDA nor the emulator: there is no device, so nothing else is
// called.
#include <cuda_runtime_api.h>

namespace lockstep::emulator {
cudaError_t allocate_device(void**, size_t, SourcePlace) { return cudaErrorNoDevice; }
cudaError_t allocate_host(void**, size_t, unsigned int) { return cudaErrorNoDevice; }
}  // namespace lockstep::emulator

extern "C" {
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorNoDevice"; }
const char* cudaGetErrorString(cudaError_t) { return "no CUDA-capable device is detected"; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int*) { return cudaErrorNoDevice; }
cudaError_t cudaSetDevice(int) { return cudaErrorNoDevice; }
cudaError_t cudaDeviceSynchronize() { return cudaErrorNoDevice; }
cudaError_t cudaFree(void*) { return cudaErrorNoDevice; }
cudaError_t cudaFreeHost(void*) { return cudaErrorNoDevice; }
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t, lockstep::emulator::SourcePlace) {
  return cudaErrorNoDevice;
}
cudaError_t cudaMemcpyPeerAsync(void*, int, const void*, int, size_t, cudaStream_t, lockstep::emulator::SourcePlace) {
  return cudaErrorNoDevice;
}
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t, lockstep::emulator::SourcePlace) {
  return cudaErrorNoDevice;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned int) { return cudaErrorNoDevice; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaErrorNoDevice; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaErrorNoDevice; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaErrorNoDevice; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned int) { return cudaErrorNoDevice; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned int) { return cudaErrorNoDevice; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaErrorNoDevice; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaErrorNoDevice; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaErrorNoDevice; }
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t) { return cudaErrorNoDevice; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaErrorNoDevice; }
}
