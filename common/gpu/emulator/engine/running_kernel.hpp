#pragma once
/// @file
/// The running kernel: its observer and its result.
#include <string>

#include "emulator/engine/execution.hpp"
#include "emulator/engine/observer.hpp"

namespace lockstep::emulator {

/// One launch, from begin() to end(). Its result stays until the next begin().
class RunningKernel {
 public:
  /// @param call      Must live until end(). @param observer  Likewise; null: plain mode.
  void begin(const KernelCall& call, Observer* observer) noexcept;
  /// Resets everything except the result.
  void end() noexcept;

  /// @pre Between begin() and end().
  [[nodiscard]] const KernelCall& call() const noexcept { return *call_; }
  /// Null in plain mode.
  [[nodiscard]] Observer* observer() const noexcept { return observer_; }
  /// So far, or final.
  [[nodiscard]] const KernelResult& result() const noexcept { return result_; }
  /// True if it has failed: none of its threads runs again.
  [[nodiscard]] bool is_over() const noexcept { return !result_.is_ok; }

  /// Reports to the observer; fails if the finding ends the kernel. Needs a current block.
  void report(const EngineFinding& finding);
  /// Ends the kernel at the next switch. The first failure becomes the result.
  void fail(std::string message, cudaError_t error = cudaErrorLaunchFailure);

 private:
  const KernelCall* call_ = nullptr;
  Observer* observer_ = nullptr;
  KernelResult result_;
};

}  // namespace lockstep::emulator
