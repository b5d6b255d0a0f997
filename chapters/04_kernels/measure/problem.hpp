#pragma once
/// @file
/// A ladder with inputs of one size on the device, for running its rungs: used by the program `ladder` and the tests.
#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "04_kernels/ladders/registry.hpp"

namespace lockstep::ladders {

/// The least work of one call, whatever the rung.
struct Cost {
  double bytes = 0;                ///< Inputs read once and outputs written once.
  double operations = 0;           ///< Floating-point additions and multiplications.
  double elements = 0;             ///< Divisor for counts per element.
  bool uses_tensor_cores = false;  ///< The roof of the tensor cores applies.
};

/// The difference between a result and the CPU's.
struct Verdict {
  double worst = 0;    ///< The largest error, relative to the allowed rounding; at most 1 for a right result.
  std::string detail;  ///< Its element, the expected and the actual value.

  /// Whether rounding explains the difference.
  [[nodiscard]] bool is_right() const noexcept { return worst <= 1; }
};

/// A rung's entry in the registry, independent of its function's type.
struct RungText {
  std::string name;  ///< Also the name of its file and its function.
  Requirement requirement = Requirement::kNone;
  std::string removes;  ///< The cost of the previous rung that this one avoids.
};

/// One ladder, its inputs on the current device, and the expected result in float64.
class Problem {
 public:
  virtual ~Problem() = default;

  /// Whether the sizes of this problem meet the rung's requirement.
  [[nodiscard]] virtual bool is_allowed(int rung) const = 0;

  /// Restores the inputs and poisons the output.
  virtual void reset() = 0;

  virtual void enqueue(int rung, cudaStream_t stream) = 0;

  /// Compares the output of the last run with the CPU's result.
  [[nodiscard]] virtual Verdict verdict() const = 0;

  [[nodiscard]] virtual Cost cost() const = 0;

  /// reset(), enqueue() and verdict(). The rung comes from this problem's registry.
  /// @throws Error  The launch or the kernel failed.
  [[nodiscard]] Verdict check(int rung);
};

/// An entry in the list of ladders.
struct LadderEntry {
  std::string_view name;     ///< Also the name of its folder.
  std::string_view what;     ///< One-line description.
  std::string_view sizes;    ///< Meaning of the sizes, such as "rows x columns".
  std::vector<int> checked;  ///< Sizes for a quick check on the emulator; no tile divides them.
  std::vector<int> counted;  ///< Sizes for counting accesses.
  std::vector<int> timed;    ///< Sizes for timing, which fill a GPU.
  /// Its rungs in a registry.
  std::vector<RungText> (*rungs)(const Registry& registry);
  /// Makes inputs of these sizes on the current device, for the rungs of this registry.
  std::unique_ptr<Problem> (*make)(std::span<const int> sizes, const Registry& registry);
};

/// All ladders, in the order of the lesson.
[[nodiscard]] std::span<const LadderEntry> all_ladders();

/// The ladder of that name.
/// @throws UsageError  Unknown ladder; names the nearest.
[[nodiscard]] const LadderEntry& find_ladder(std::string_view name);

}  // namespace lockstep::ladders
