#pragma once
/// @file
/// Who chooses a library's algorithms for the matrix products of this process. Without a chooser, the library's first
/// suggestion is used.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/algorithm_chooser.hpp"
#include "kernels/algorithm_table.hpp"

namespace lockstep::kernels {

/// Makes the choice of one product, or learns that of another rank.
struct AlgorithmDecision {
  std::string library, product;
  std::function<std::string()> decide;  ///< The algorithm's name. @throws Error  None can be used.
};

/// How a choice is made that no table has.
struct ChoiceRule {
  bool times = false;  ///< The fastest algorithm; false: the library's first suggestion.
  /// Returns what `decide` has returned on one of the ranks, the same on all; null: this process decides alone.
  std::function<std::string(const AlgorithmDecision& decision)> agree = nullptr;
};

/// The fastest algorithm of an offer, or the first one that can be timed if no other is faster by 2 per cent: times
/// vary by that much from call to call, and a choice changes the bits of results. One whose time is not a positive
/// number, or whose trial throws Error, is passed over.
/// @pre  The offer has a trial, which is prepared. @throws Error  None is left; names the product and the last error.
[[nodiscard]] std::size_t fastest_algorithm(const AlgorithmOffer& offer);

/// Chooses by a table, to which it adds what the rule chooses.
class AlgorithmChoices final : public AlgorithmChooser {
 public:
  explicit AlgorithmChoices(ChoiceRule rule, AlgorithmTable table = {});

  /// @throws FormatError  The table belongs to another library, or the library does not offer the table's algorithm.
  [[nodiscard]] std::size_t choose(const AlgorithmOffer& offer) override;
  [[nodiscard]] std::uint64_t id() const noexcept override { return id_; }

  /// The choices so far.
  [[nodiscard]] AlgorithmTable table() const;
  /// Adds choices, which replace those of the same products. @pre  Those products have not been computed yet.
  void set_all(const AlgorithmTable& table);

 private:
  const std::uint64_t id_;
  const ChoiceRule rule_;
  mutable std::mutex mutex_;
  AlgorithmTable table_;
};

/// From now on `chooser` chooses for the products that this process computes on devices; null: nobody. Thread safety:
/// any.
void set_algorithm_chooser(std::shared_ptr<AlgorithmChooser> chooser);
/// The one who does; null: nobody.
[[nodiscard]] std::shared_ptr<AlgorithmChooser> algorithm_chooser();

}  // namespace lockstep::kernels
