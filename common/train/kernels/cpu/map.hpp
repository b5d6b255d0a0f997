#pragma once
/// @file
/// Operations on one element at a time: which thread works on which elements. Internal to this module.
#include <array>
#include <utility>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels {

inline constexpr std::int64_t kMapBlock = 4096;  // elements per task

/// Runs body(begin, end) over [0, count) in blocks of kMapBlock elements.
template <typename Body>
void map_blocks(std::int64_t count, const Body& body) {
  parallel_blocks(count, kMapBlock, count, body);
}

/// out[i] = operation<T>(inputs[0][i], ...), or added to out[i], a vector of elements at a time, computed in T. All
/// arrays have one type and size; `out` may be an input.
template <std::size_t N, typename Operation>
void map(const Array& out, Write write, const ConstArray (&inputs)[N], const Operation& operation) {
  on_storage_type(out, [&]<typename S, typename T>() {
    std::array<const S*, N> from;
    for (std::size_t k = 0; k < N; ++k) from[k] = inputs[k].template as<S>();
    map_blocks(out.count(), [=, to = out.as<S>()](std::int64_t begin, std::int64_t end) {
      for_each_vector<T>(end - begin, [=](std::int64_t offset, auto lanes) {
        const std::int64_t i = begin + offset;
        const auto apply = [=]<std::size_t... k>(std::index_sequence<k...>) {
          return operation.template operator()<T>(load(from[k] + i, lanes)...);
        };
        const Vector<T> result = apply(std::make_index_sequence<N>{});
        store(to + i, write == Write::kAdd ? load(to + i, lanes) + result : result, lanes);
      });
    });
  });
}

}  // namespace lockstep::kernels
