#pragma once
/// @file
/// Given: who draws which random numbers if ranks train one model together, for exercise 10.5.
///
/// Ranks stand on a grid. Ranks with the same data rank are a tensor group: each has a part of one model, and they
/// compute the same samples together. Data ranks have equal models, and each of them reads other samples.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/philox.hpp"    // IWYU pragma: export
#include "exercise/todo.hpp"  // IWYU pragma: export

namespace lockstep::tensor_parallel {

/// The use of random numbers.
enum class Purpose {
  kOrder,            ///< The order of all samples in an epoch. Each data rank then takes its share of them.
  kWholeWeights,     ///< First values of a parameter that every rank has whole, such as the table of positions.
  kCutWeights,       ///< First values of this tensor rank's part of a matrix.
  kStreamDropout,    ///< Dropout of the stream between two layers, if every tensor rank has all rows of it.
  kRowsDropout,      ///< The same, if each tensor rank has some of the rows: sequence parallelism.
  kAttentionDropout  ///< Dropout of the attention probabilities of this tensor rank's heads.
};

/// One tensor of random numbers in one run.
struct Draw {
  std::uint64_t seed = 0;  ///< Of the run, the same on all ranks.
  Purpose purpose = Purpose::kOrder;
  std::int64_t layer = 0;        ///< Differs between all tensors of one purpose.
  std::int64_t step = 0;         ///< Of an order: the epoch. Of weights: 0.
  std::int64_t micro_batch = 0;  ///< Of a dropout: the number within the step. Otherwise 0.
};

/// A rank's place on the grid.
struct Place {
  int data_rank = 0;
  int tensor_rank = 0;
};

/// The seed of the generator that a rank makes for a draw. A generator has a state, as in PyTorch: from the same seed
/// comes the same sequence of numbers.
/// @return  For one draw, the same on two ranks that have to draw the same numbers, and different on two ranks that
///          have to draw different ones. Different for different draws, and for runs with other seeds. Recomputing a
///          forward pass asks once more for the same draws, and gets the same seeds.
[[nodiscard]] std::uint64_t seed_for(const Draw& draw, const Place& place);

/// How a tensor group divides a tensor of a batch.
enum class Cut {
  kNothing,  ///< [B, T, C]: every rank has all of it.
  kRows,     ///< [B T / N, C]: some of the B T rows. Rank r begins with row r B T / N, which need not begin a sample.
  kHeads     ///< [B, H / N, T, T]: some heads of each sample. Rank r begins with head r H / N.
};

/// The part that one rank of a tensor group has. B is the number of samples.
struct Part {
  Cut cut = Cut::kNothing;
  std::span<const std::int64_t> samples = {};  ///< Their numbers in the data: all samples of a step differ.
  std::int64_t positions = 1;                  ///< T
  std::int64_t width = 1;                      ///< C; with Cut::kHeads it is H, the heads of all ranks together.
  int rank = 0;                                ///< Of the tensor group.
  int ranks = 1;                               ///< N, which divides B T or H.
};

/// One dropout layer in one step.
struct Dropout {
  float probability = 0.5F;  ///< Of dropping an element, in [0, 1).
  std::uint64_t seed = 0;    ///< Of the run.
  std::int64_t step = 0;
  std::int64_t layer = 0;  ///< Differs between all dropouts of a model.
};

/// Sets each element to 0 with the given probability, and divides the others by (1 - probability).
///
/// There is no generator with a state here. Whether an element is dropped is computed from the dropout's seed, step and
/// layer, from the number of the sample and from the element's place in the whole tensor of that sample: [T, C] or
/// [H, T, T]. If any of them differs, the choice is independent. Nothing else matters: not the rank, the number of
/// ranks, the other samples of the batch, or calls before. So a divided model drops the same elements as a whole one.
/// You choose how: mix64() of philox.hpp makes one random number of two numbers.
/// @param elements  Of the part, in the order of its shape. @param part  Where they belong.
void drop_part(std::span<float> elements, const Dropout& dropout, const Part& part);

}  // namespace lockstep::tensor_parallel
