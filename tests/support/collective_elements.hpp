#pragma once
/// @file
/// Input elements and expected results, shared by the checks of collectives.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/run_ranks.hpp"

namespace lockstep::test {

using comm::Buffer;
using comm::JobContext;
using comm::ProcessGroup;
using comm::ReduceOp;

inline const std::vector<int> kWorldSizes{1, 2, 3, 4, 5, 8};
inline const std::vector<ReduceOp> kOps{ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax,
                                        ReduceOp::kMean};
inline const std::vector<DType> kDTypes{DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32,
                                        DType::kInt64};

// A value as an element. Every dtype represents small integers exactly; for other values bfloat16 keeps the upper bits.
template <typename T>
T element(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    return {static_cast<std::uint16_t>(bits >> 16)};
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
bool is_equal(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Standard normal values, the same in every run; ranks differ.
template <typename T>
std::vector<T> random_values(int rank, std::size_t count) {
  PhiloxSequence words(99, static_cast<std::uint64_t>(rank));
  std::vector<T> values(count);
  for (T& value : values) value = element<T>(normal_floats(words.next_word(), words.next_word())[0]);
  return values;
}

// Calls `body` with a value of `dtype`'s element type.
template <typename Body>
std::string with_element_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::kFloat32:
      return body(float{});
    case DType::kFloat64:
      return body(double{});
    case DType::kBFloat16:
      return body(BFloat16{});
    case DType::kInt32:
      return body(std::int32_t{});
    case DType::kInt64:
      return body(std::int64_t{});
    case DType::kUInt8:
      return body(std::uint8_t{});
    case DType::kFloat16:
      break;  // moved as any 2 bytes, not reduced
  }
  return "no such dtype";
}

// Element `index` of rank `rank`'s data if it is only moved: neighbours, ranks and parts differ, and the value
// identifies its origin. Below 128, which bfloat16 represents exactly.
inline double moved_value(int rank, std::int64_t index) { return static_cast<double>((rank * 17 + index) % 127); }

// Rank `rank`'s contribution to element `index`. Neighbouring elements and ranks differ.
inline double contribution(int rank, std::int64_t index, int world_size, DType dtype, ReduceOp op) {
  const std::int64_t mixed = rank + index;
  switch (op) {
    case ReduceOp::kSum:
      // Decodable: in base 8, digit (rank + index) mod 8 counts the rank. bfloat16 has 8 bits: base 2.
      return static_cast<double>(std::int64_t{1} << (dtype == DType::kBFloat16 ? mixed % 8 : 3 * (mixed % 8)));
    case ReduceOp::kProduct:
      return static_cast<double>(mixed % 2 + 1);
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return static_cast<double>((7 * rank + 3 * index) % 11 - 5);
    case ReduceOp::kMean:
      return static_cast<double>(world_size * (mixed % 4));  // so that integers divide without remainder
  }
  return 0;
}

inline double expected(std::int64_t index, int world_size, DType dtype, ReduceOp op) {
  double result = contribution(0, index, world_size, dtype, op);
  for (int rank = 1; rank < world_size; ++rank) {
    const double value = contribution(rank, index, world_size, dtype, op);
    if (op == ReduceOp::kProduct)
      result *= value;
    else if (op == ReduceOp::kMin)
      result = std::min(result, value);
    else if (op == ReduceOp::kMax)
      result = std::max(result, value);
    else
      result += value;
  }
  return op == ReduceOp::kMean ? result / world_size : result;
}

template <typename T, typename ValueOf>
std::vector<T> filled(std::int64_t count, ValueOf value_of) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = element<T>(value_of(i));
  return values;
}

// The first wrong element, or "".
template <typename T, typename ValueOf>
std::string difference(const std::vector<T>& values, ValueOf value_of) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_equal(values[i], element<T>(value_of(static_cast<std::int64_t>(i))))) return concat("element ", i);
  }
  return "";
}

template <typename T>
Buffer buffer_of(std::vector<T>& values) {
  return comm::host_buffer(std::span(values));
}

constexpr double kUntouched = 99;

// Runs `body` on every rank of a job; a returned text is an error.
inline void check_on_all_ranks(const GroupFactory& make_group, int world_size,
                               const std::function<std::string(ProcessGroup&)>& body) {
  const auto problems =
      run_ranks_for<std::string>(world_size, [&](JobContext context) { return body(*make_group(std::move(context))); });
  for (const std::string& problem : problems) {
    CAPTURE(world_size);
    CHECK(problem == "");
  }
}

// Remembers the first error on a rank.
class Findings {
 public:
  explicit Findings(const ProcessGroup& group) : prefix_(concat("rank ", group.rank(), ": ")) {}
  template <typename... Parts>
  void add(const std::string& wrong, const Parts&... what) {
    if (!wrong.empty() && first_.empty()) first_ = concat(prefix_, what..., ": wrong from ", wrong);
  }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  std::string prefix_;
  std::string first_;
};

}  // namespace lockstep::test
