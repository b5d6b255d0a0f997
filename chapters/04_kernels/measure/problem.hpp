#pragma once
/// @file
/// A ladder with inputs of one size on the device: what the program `ladder` and the tests run rungs with.
#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "04_kernels/ladders/registry.hpp"

namespace lockstep::ladders {

/// What one call must do at least, whatever the rung.
struct Cost {
  double bytes = 0;                ///< Inputs read once and outputs written once.
  double operations = 0;           ///< Floating-point additions and multiplications.
  double elements = 0;             ///< What counts per element are divided by.
  bool uses_tensor_cores = false;  ///< Then another roof is above it.
};

/// How far a result is from the CPU's.
struct Verdict {
  double worst = 0;    ///< The largest error in units of what rounding allows; at most 1 for a right result.
  std::string detail;  ///< Where it is: element, what was expected, what came.

  /// Whether rounding explains the difference.
  [[nodiscard]] bool is_right() const noexcept { return worst <= 1; }
};

/// What a rung's entry in the registry says, whatever its function's type.
struct RungText {
  std::string name;                              ///< Of its file and its function.
  Requirement requirement = Requirement::kNone;  ///< Of the sizes.
  std::string removes;                           ///< The cost that the rung before it pays.
};

/// One ladder, its inputs on the current device, and the expected result in float64.
class Problem {
 public:
  virtual ~Problem() = default;

  /// Whether the sizes of this problem meet what the rung asks.
  [[nodiscard]] virtual bool is_allowed(int rung) const = 0;

  /// Puts back what an earlier run has changed, and poisons the output.
  virtual void reset() = 0;

  /// Enqueues the rung's work.
  virtual void enqueue(int rung, cudaStream_t stream) = 0;

  /// Compares what the rung that ran last has left with the CPU's result.
  [[nodiscard]] virtual Verdict verdict() const = 0;

  /// What a call costs at least.
  [[nodiscard]] virtual Cost cost() const = 0;

  /// reset(), enqueue() and verdict(). The rung comes from this problem's registry.
  /// @throws Error  The launch or the kernel failed.
  [[nodiscard]] Verdict check(int rung);
};

/// A ladder that exists.
struct LadderEntry {
  std::string_view name;     ///< Of its folder.
  std::string_view what;     ///< One line.
  std::string_view sizes;    ///< What the sizes are, such as "rows x columns".
  std::vector<int> checked;  ///< Sizes for a check that is quick on the emulator; they do not divide by any tile.
  std::vector<int> counted;  ///< Sizes whose accesses are counted.
  std::vector<int> timed;    ///< Sizes that fill a GPU.
  /// What a registry holds of it.
  std::vector<RungText> (*rungs)(const Registry& registry);
  /// Inputs of these sizes on the current device, for the rungs of this registry.
  std::unique_ptr<Problem> (*make)(std::span<const int> sizes, const Registry& registry);
};

/// All ladders, in the order of the lesson.
[[nodiscard]] std::span<const LadderEntry> all_ladders();

/// The ladder of that name.
/// @throws UsageError  There is none; names the nearest.
[[nodiscard]] const LadderEntry& find_ladder(std::string_view name);

}  // namespace lockstep::ladders
