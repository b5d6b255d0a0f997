#pragma once
/// @file
/// The gradient of a small model, whole and as the ranks of a grid have it, for the judge of exercise 12.4; and the
/// norms that come out of right and wrong rules.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "12_three_dimensions/4_one_norm/one_norm.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {

struct Sides {
  int pipeline = 1, data = 1, tensor = 1;

  [[nodiscard]] int ranks() const noexcept { return pipeline * data * tensor; }
  [[nodiscard]] one_norm::Place place_of(int rank) const noexcept {
    return {.pipeline = rank / (data * tensor), .data = rank / tensor % data, .tensor = rank % tensor};
  }
};

/// How data ranks have the parameters.
enum class DataAxis {
  kAllCut,         ///< ZeRO, stage 1: every parameter is cut.
  kAllCopied,      ///< As with DDP.
  kVectorsCopied,  ///< Small parameters are left whole.
};

struct Parameter {
  std::string name;
  int stage = 0;
  one_norm::Spread along_tensor, along_data;
  bool is_borrowed = false;
  std::vector<float> gradient;  ///< Uncut.
};

/// How much of a model is trained.
enum class Trained { kAll, kNormsOnly };

/// A GPT with one block on each stage.
class GridGradient {
 public:
  GridGradient(const Sides& sides, DataAxis data_axis, std::uint64_t seed, float scale = 1,
               Trained trained = Trained::kAll)
      : sides_(sides), data_axis_(data_axis), seed_(seed), scale_(scale) {
    const int last = sides.pipeline - 1;
    for (int stage = 0; stage <= last; ++stage) {
      const std::string block = "blocks." + std::to_string(stage);
      if (trained == Trained::kAll) {
        if (stage == 0) add_matrix("tokens.weight", stage, 61);
        if (stage == 0) add_vector("positions.weight", stage, 21);
        add_matrix(block + ".attention.qkv.weight", stage, 53);
        add_matrix(block + ".attention.out.weight", stage, 29);
        add_vector(block + ".attention.out.bias", stage, 5);
        add_matrix(block + ".mlp.up.weight", stage, 47);
        add_matrix(block + ".mlp.up.bias", stage, 13);
        add_matrix(block + ".mlp.down.weight", stage, 43);
        add_vector(block + ".mlp.down.bias", stage, 5);
      }
      add_vector(block + ".norm.weight", stage, 5);
      if (stage == last) add_vector("final_norm.bias", stage, 3);
      if (stage == last && last > 0 && trained == Trained::kAll) {
        add_matrix("tokens.weight", stage, 61);
        parameters_.back().is_borrowed = true;
      }
    }
  }

  [[nodiscard]] const Sides& sides() const noexcept { return sides_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  /// One element of a matrix, which one rank of each line has.
  [[nodiscard]] float& middle_of(const std::string& name) {
    for (Parameter& parameter : parameters_)
      if (parameter.name == name) return parameter.gradient[parameter.gradient.size() / 2];
    return parameters_.front().gradient.front();
  }
  [[nodiscard]] static bool is_on(const Parameter& parameter, const one_norm::Place& place) {
    return parameter.stage == place.pipeline;
  }

  /// The elements that a rank has of a parameter of its stage.
  [[nodiscard]] std::vector<float> part(const Parameter& parameter, const one_norm::Place& place) const {
    std::vector<float> own = parameter.gradient;
    if (parameter.along_tensor == one_norm::Spread::kCut) own = piece(own, place.tensor, sides_.tensor);
    if (parameter.along_data == one_norm::Spread::kCut) own = piece(own, place.data, sides_.data);
    return own;
  }

 private:
  static std::vector<float> piece(const std::vector<float>& all, int index, int pieces) {
    const auto at = [&](int i) { return std::ssize(all) * i / pieces; };
    return {all.begin() + at(index), all.begin() + at(index + 1)};
  }

  void add_matrix(const std::string& name, int stage, std::size_t count) {
    add(name, stage, count, one_norm::Spread::kCut);
  }
  void add_vector(const std::string& name, int stage, std::size_t count) {
    add(name, stage, count, one_norm::Spread::kCopied);
  }
  void add(const std::string& name, int stage, std::size_t count, one_norm::Spread along_tensor) {
    const bool is_copied = data_axis_ == DataAxis::kAllCopied ||
                           (data_axis_ == DataAxis::kVectorsCopied && along_tensor == one_norm::Spread::kCopied);
    parameters_.push_back({.name = name,
                           .stage = stage,
                           .along_tensor = along_tensor,
                           .along_data = is_copied ? one_norm::Spread::kCopied : one_norm::Spread::kCut,
                           .gradient = random_floats(seed_, 2000 + parameters_.size(), count)});
    for (float& element : parameters_.back().gradient) element *= scale_;
  }

  Sides sides_;
  DataAxis data_axis_;
  std::uint64_t seed_;
  float scale_;
  std::vector<Parameter> parameters_;
};

/// The squares of all elements of the uncut gradient. Knows nothing of ranks.
[[nodiscard]] inline double whole_squares(const GridGradient& whole) {
  double squares = 0;
  for (const Parameter& parameter : whole.parameters())
    for (const float element : parameter.gradient)
      if (!parameter.is_borrowed) squares += static_cast<double>(element) * static_cast<double>(element);
  return squares;
}

}  // namespace lockstep::exercise
