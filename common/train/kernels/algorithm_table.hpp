#pragma once
/// @file
/// Choices of algorithms for matrix products as a text that can be saved, and given to another run.
#include <map>
#include <string>
#include <string_view>

namespace lockstep::kernels {

/// Products of one library on one kind of GPU, and the algorithm of each. As text:
/// ```
/// lockstep matmul algorithms 1
/// cuBLASLt 130200 on NVIDIA H200
/// 1f:0:20021 1 x bfloat16 [8192, 768] [768, 2304]^T + bias -> bfloat16, aligned to 256
/// ```
/// A line for each product: the algorithm's name, a space, the product. Thread safety: none.
class AlgorithmTable {
 public:
  /// The table of a text. @param where  Names the text in messages: a file.
  /// @throws FormatError  It was not written by text(); names the text, the line and what is wrong with it.
  [[nodiscard]] static AlgorithmTable parse(std::string_view text, const std::string& where);
  /// The table as text, sorted by product.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool is_empty() const noexcept { return choices_.empty(); }
  /// Whose algorithms these are; empty if there are none yet.
  [[nodiscard]] const std::string& library() const noexcept { return library_; }

  /// An algorithm, and where the choice was read, for messages.
  struct Choice {
    std::string algorithm;
    std::string where;
  };
  /// Null: none has been made for this product.
  [[nodiscard]] const Choice* find(const std::string& product) const;

  /// @throws FormatError  The choices are those of another library or GPU.
  void require_library(const std::string& library) const;
  /// Adds a choice, or replaces that of the product. @throws FormatError  As require_library().
  void set(const std::string& library, const std::string& product, Choice choice);
  /// Does so with every choice of `other`.
  void set_all(const AlgorithmTable& other);

 private:
  std::string library_, library_where_;
  std::map<std::string, Choice> choices_;
};

}  // namespace lockstep::kernels
