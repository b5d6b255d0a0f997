#pragma once
/// @file
/// Which of a library's algorithms computes a matrix product: what the kernels of a device ask, and whom. Without
/// tensors, so that device code compiles without them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::kernels {

/// Calls of one product's algorithms, to see how long they take. They read and write memory of their own.
class AlgorithmTrial {
 public:
  /// Makes the data, and waits until the device has done all that this rank enqueued. Called once, before any of the
  /// calls. May wait for other ranks' work, so that milliseconds() waits for none.
  virtual void prepare() = 0;
  /// The time of one call of algorithm `i`. NaN: unknown. @throws Error  It cannot compute this product.
  [[nodiscard]] virtual double milliseconds(std::size_t i) = 0;

 protected:
  AlgorithmTrial() = default;
  ~AlgorithmTrial() = default;
  AlgorithmTrial(const AlgorithmTrial&) = default;
  AlgorithmTrial& operator=(const AlgorithmTrial&) = default;
};

/// The algorithms of a library for one product.
struct AlgorithmOffer {
  std::string library;  ///< With its version and its GPU, for which alone its algorithms mean something.
  std::string product;  ///< Sizes, types and layouts in one line; equal for equal products.
  std::vector<std::string> algorithms;  ///< Names without spaces; the library's suggestion first. Never empty.
  AlgorithmTrial* trial = nullptr;      ///< Null: nothing can be timed now (a graph is being captured, for example).
};

/// Chooses algorithms. Thread safety: any.
class AlgorithmChooser {
 public:
  /// The index of the algorithm to use. @throws Error  None can be used.
  [[nodiscard]] virtual std::size_t choose(const AlgorithmOffer& offer) = 0;
  /// Not 0, and different for every chooser of a process, so that kernels may remember its choices.
  [[nodiscard]] virtual std::uint64_t id() const noexcept = 0;

 protected:
  AlgorithmChooser() = default;
  ~AlgorithmChooser() = default;
  AlgorithmChooser(const AlgorithmChooser&) = default;
  AlgorithmChooser& operator=(const AlgorithmChooser&) = default;
};

}  // namespace lockstep::kernels
