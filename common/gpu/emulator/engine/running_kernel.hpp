#pragma once
/// @file
/// The kernel that runs: who watches it, and how it ends.
#include <string>

#include "emulator/engine/execution.hpp"
#include "emulator/engine/observer.hpp"

namespace lockstep::emulator {

/// One launch, from begin() to end(). Its result stays until the next begin().
class RunningKernel {
 public:
  /// @param call      Must live until end(). @param observer  As well; null: plain mode.
  void begin(const KernelCall& call, Observer* observer) noexcept;
  /// Forgets all but the result.
  void end() noexcept;

  /// What runs. @pre Between begin() and end().
  [[nodiscard]] const KernelCall& call() const noexcept { return *call_; }
  /// Null in plain mode.
  [[nodiscard]] Observer* observer() const noexcept { return observer_; }
  /// How it stands or ended.
  [[nodiscard]] const KernelResult& result() const noexcept { return result_; }
  /// Whether it has failed: no thread of it gets another turn.
  [[nodiscard]] bool is_over() const noexcept { return !result_.is_ok; }

  /// Tells the observer; fails if the finding ends the kernel. Needs a current block.
  void report(const EngineFinding& finding);
  /// Ends the kernel at the next switch. The first failure is the result.
  void fail(std::string message, cudaError_t error = cudaErrorLaunchFailure);

 private:
  const KernelCall* call_ = nullptr;
  Observer* observer_ = nullptr;
  KernelResult result_;
};

}  // namespace lockstep::emulator
