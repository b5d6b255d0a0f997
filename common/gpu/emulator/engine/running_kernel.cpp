#include "emulator/engine/running_kernel.hpp"

#include <utility>

#include "base/text.hpp"

namespace lockstep::emulator {

namespace {

std::string thread_text(const ThreadPlace& thread) {
  const uint3& index = thread.thread_idx;
  const std::string where =
      thread.place.file == nullptr ? "" : concat(" at ", thread.place.file, ":", thread.place.line);
  return concat("thread (", index.x, ",", index.y, ",", index.z, ") ", thread.doing, where);
}

}  // namespace

void RunningKernel::begin(const KernelCall& call, Observer* observer) noexcept {
  call_ = &call;
  observer_ = observer;
  result_ = {};
}

void RunningKernel::end() noexcept {
  call_ = nullptr;
  observer_ = nullptr;
}

void RunningKernel::report(const EngineFinding& finding) {
  if (observer_ != nullptr) observer_->finding(finding);
  if (!finding.ends_kernel) return;
  const uint3& block = current_block()->block_idx;
  std::string message = concat(finding.message, " (block (", block.x, ",", block.y, ",", block.z, "))");
  for (const ThreadPlace& thread : finding.threads) message += "\n  " + thread_text(thread);
  cudaError_t error = cudaErrorLaunchFailure;
  if (finding.kind == EngineFindingKind::kIllegalAddress) error = cudaErrorIllegalAddress;
  if (finding.kind == EngineFindingKind::kMisalignedAddress) error = cudaErrorMisalignedAddress;
  fail(std::move(message), error);
}

void RunningKernel::fail(std::string message, cudaError_t error) {
  if (!is_over()) result_ = {false, std::move(message), error};
}

}  // namespace lockstep::emulator
